"""Which folders can hold what Sluice writes, judged by their names, before anything is made in them.

Blanks, quotes, parentheses, `=`, `;`, `%` and every letter of Unicode work. What is refused has a meaning in a place
where no escape helps: Spark takes a pattern for a pattern, its lists and Kafka's `log.dirs` end an entry at a comma,
Java's class path does so at a `:` and the address of a jar at `!/`, `#` cuts an address, Delta's reader decodes `%41`,
Airflow and Log4j replace `$NAME`, and a line break ends a line of a configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_MEANINGS: Mapping[str, str] = {
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]": "ends or garbles a line of a configuration file",
    r"[\ud800-\udfff]": "is not UTF-8, and Java finds no such file",
    r"[\\*?\[\]{}]": "is part of a pattern to Spark",
    r":": "separates entries of Java's class path, and Spark finds no code below it",
    r",": "separates folders in lists of Kafka's and Spark's",
    r"[|^]": "is in no address, as the reader of Delta tables makes one of the folder",
    r"#": "ends an address that Spark loads code from",
    r"\$": "begins the name of a variable to Airflow and Log4j",
    r"!(?=/|$)": "ends a folder's name, which ends the name of a jar to Java",
    r"%[0-9A-Fa-f]{2}": "is one character in an address to the reader of Delta tables",
}


def folder_fault(folder: str) -> str:
    """Return which part of a folder's path cannot be used, and why; empty if all can."""
    for pattern, meaning in _MEANINGS.items():
        if match := re.search(pattern, folder):
            return f"{match[0]!a} in it {meaning}"
    return ""
