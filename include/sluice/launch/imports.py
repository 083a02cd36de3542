"""How a process loads its code for which somebody waits."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading_code() -> Iterator[None]:
    """Import modules inside this block: the garbage collector leaves what they make alone, now and later.

    Classes and functions stay to the end of the process. The collector would look at all of them again and again while
    there come to be more, and several times when the process ends: for a batch that is a third of its imports.

    Do not import DuckDB in here: at the end it complains of what the collector has not freed.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
