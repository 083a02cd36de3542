"""How the JVM behind a session is started: without a warning that helps no reader, and not into a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from sluice.devstack.spark_authentication import SAFE_PATH
from sluice.settings import LOCALE

_CONF = Path(__file__).with_name("conf")


def start_variables(environment: Mapping[str, str], conf: Path = _CONF, settings: Path | None = None) -> dict[str, str]:
    """Return the variables of Spark's launcher.

    Every file is found by its name, in whatever locale we run, and Java's warning of incubating modules is left out.

    Args:
        environment: in which it will run. A Spark of the user's own, or settings for it, stay.
        conf: the folder with `spark-env.sh`.
        settings: the folder with the settings by which a cluster knows its drivers; without them it lets none in.
    """
    if settings is not None:
        return {**LOCALE, "SPARK_CONF_DIR": str(settings)}
    if {"SPARK_HOME", "SPARK_CONF_DIR"} & environment.keys() or not SAFE_PATH.fullmatch(str(conf)):
        return LOCALE
    return {**LOCALE, "SPARK_CONF_DIR": str(conf)}


@contextmanager
def output_off_the_terminal() -> Iterator[None]:
    """Keep a JVM that is started in this block from writing to the terminal itself.

    What it says, it says through this process's `sys.stderr`, line by line: a JVM quotes records, and these may hold
    commands for terminals. Where stderr is a file, nothing changes.
    """
    if not os.isatty(2):
        yield
        return
    kept = os.dup(2)
    reading, writing = os.pipe()
    Thread(target=_hand_on, args=(reading,), name="output of the JVM", daemon=True).start()
    try:
        os.dup2(writing, 2)  # a JVM keeps the descriptors that it inherits
        os.close(writing)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _hand_on(reading: int) -> None:
    with os.fdopen(reading, encoding="utf-8", errors="backslashreplace") as lines:
        for line in lines:
            sys.stderr.write(line)
