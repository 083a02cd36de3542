"""Finding a pipeline's transform: the same function object for stream and batch."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from pyspark.sql import DataFrame

from sluice.errors import SpecError

Transform = Callable[..., DataFrame]
"""`DataFrame -> DataFrame`, with static inputs as keyword-only parameters."""


def load_transform(name: str) -> Transform:
    """Import `module:function` from the package `transforms`.

    Raises:
        SpecError: it is not there.
    """
    module, _, function = name.partition(":")
    try:
        target = getattr(importlib.import_module(f"transforms.{module}"), function)
    except (ImportError, AttributeError) as error:
        raise SpecError(f"transform {name!r} cannot be loaded: {error}.", fix="run `sluice check`.") from error
    if not callable(target):
        raise SpecError(f"transform {name!r} is a {type(target).__name__}, not a function.")
    transform: Transform = target
    return transform
