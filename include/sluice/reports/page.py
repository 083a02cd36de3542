"""Templates into HTML: values from data are escaped, and a name without a value is an error.

A report is one file without script, font or picture from elsewhere: it is read from a disk, years later and offline.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


class Tone(StrEnum):
    """The colour of a verdict; its word is always written beside it."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@cache
def templates(package: str) -> Environment:
    """Return the templates of a package, in its folder `templates`."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **context: object) -> str:
    """Return a report.

    Args:
        template: a file in `reports/templates/` that extends `page.html`.
        context: the names in it; `page.html` itself needs `title`, `verdict`, `tone` and `facts` (name → text).

    Raises:
        jinja2.TemplateNotFound: there is no such template.
        jinja2.UndefinedError: it uses a name that has no value.
    """
    return templates("sluice.reports").get_template(template).render(context)
