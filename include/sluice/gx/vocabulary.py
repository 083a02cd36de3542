"""The names and arguments that Great Expectations knows: a rule for `sluice check`.

It is no rule of every scan, because the import takes seconds; where it is not asked, the gate itself refuses what
Great Expectations does not know. Nothing is imported where there is no suite, or where the same suites were found to
be right before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sluice.contracts.breach import Loc
from sluice.specs.expectations.model import Expectation
from sluice.specs.expectations.set_level import OWN_ARGUMENTS
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading, Rule

_OURS = {
    "severity": "write it beside `expect`.",
    "description": "write it beside `expect`.",
    "notes": "write a description beside `expect`.",
    "meta": "write a description beside `expect`.",
    **dict.fromkeys(("id", "batch_id", "result_format", "catch_exceptions", "rendered_content", "windows"), ""),
}
"""Arguments that every implementation takes and no spec may give: the gate sets them."""


def known_expectations() -> list[str]:
    """Return the names of all expectations, sorted."""
    from great_expectations.expectations.registry import list_registered_expectation_implementations  # noqa: PLC0415 - see the module's docstring # fmt: skip

    _load()
    return sorted(list_registered_expectation_implementations())


def implementation(name: str) -> Any:  # noqa: ANN401 - a class of Great Expectations, which has no types for us
    """Return the class of an expectation.

    Raises:
        ExpectationNotFoundError: there is none of this name.
    """
    from great_expectations.expectations.registry import get_expectation_impl  # noqa: PLC0415 - see above

    _load()
    return get_expectation_impl(name)


def _load() -> None:
    """Fill Great Expectations' registry, which importing it does."""
    import great_expectations.expectations  # noqa: F401, PLC0415 - imported for its effect, here because it is slow


def expectations_are_known_since(memory: Path) -> Rule:
    """Return `expectations_are_known`, which passes suites that it passed before without a check.

    Args:
        memory: the file that remembers the last suites without fault, by digest. It may be lost at any time.
    """

    def rule(reading: Reading) -> Iterator[Finding]:
        digest = _digest(reading)
        if _content(memory) == digest:
            return
        findings = list(expectations_are_known(reading))
        yield from findings
        if not findings and reading.catalog.expectations:
            with suppress(OSError):  # a folder that cannot be written costs seconds, and no more
                memory.parent.mkdir(parents=True, exist_ok=True)
                memory.write_text(digest)

    return rule


def _digest(reading: Reading) -> str:
    digest = hashlib.sha256(version("great-expectations").encode())
    for _, suite in sorted(reading.catalog.expectations.items()):
        digest.update(suite.model_dump_json().encode())
    return digest.hexdigest()


def _content(memory: Path) -> str:
    try:
        return memory.read_text()
    except OSError:
        return ""


def expectations_are_known(reading: Reading) -> Iterator[Finding]:
    """Every expectation and every argument is one that Great Expectations has, with a value that it takes."""
    for name, suite in reading.catalog.expectations.items():
        for position, expectation in enumerate(suite.expectations):
            for loc, message, fix in _faults(expectation):
                yield reading.finding(Kind.SUITE, name, ("expectations", position, *loc), message, fix)


def _faults(expectation: Expectation) -> Iterator[tuple[Loc, str, str]]:
    if expectation.expect in OWN_ARGUMENTS:
        return  # judged by `sluice.specs.rules.interval_expectations`
    names = [*known_expectations(), *OWN_ARGUMENTS]
    if expectation.expect not in names:
        message = f"Great Expectations has no {expectation.expect!r}."
        yield ("expect",), message, nearest(expectation.expect, names)
        return
    class_ = implementation(expectation.expect)
    arguments = sorted(class_.__fields__.keys() - _OURS.keys())
    unknown = [key for key in expectation.kwargs if key not in arguments]
    for key in unknown:
        if key in _OURS:
            yield ("kwargs", key), f"the gate sets {key!r} itself.", _OURS[key] or "remove it."
        else:
            yield ("kwargs", key), f"{expectation.expect} has no argument {key!r}.", nearest(key, arguments)
    if not unknown:
        yield from _refusals(class_, expectation)


def _refusals(class_: Any, expectation: Expectation) -> Iterator[tuple[Loc, str, str]]:  # noqa: ANN401 - see above
    """Yield what the expectation's own validation refuses, one for each argument."""
    from pydantic.v1 import ValidationError  # noqa: PLC0415 - the one that Great Expectations uses, not ours

    try:
        class_(**expectation.kwargs)
    except ValidationError as error:
        refused: dict[Loc, list[str]] = {}
        for entry in error.errors():
            key = str(entry["loc"][0])
            loc: Loc = ("kwargs",) if key == "__root__" else ("kwargs", key)
            refused.setdefault(loc, []).append(entry["msg"])
        for loc, messages in refused.items():
            yield loc, f"{expectation.expect} refuses it: {'; nor: '.join(dict.fromkeys(messages))}.", ""
    except Exception as error:  # noqa: BLE001 - its validators raise what they like, such as for a row_condition
        yield ("kwargs",), f"{expectation.expect} refuses it: {error}.", ""
