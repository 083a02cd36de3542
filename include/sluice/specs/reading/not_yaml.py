"""Why a text is not YAML, in words for the person who wrote it; the parser only says what it expected."""

from __future__ import annotations

import re

import yaml

_INDENTED_BY_TAB = re.compile(r" *\t")
_KEY_WITHOUT_BLANK = re.compile(r"\s*[\w.-]+:[^\s:]")


def not_yaml(error: yaml.YAMLError, text: str) -> tuple[int, str, str]:
    """Return the line to mend, what is wrong there, and what to do; the last is empty where it is unknown."""
    lines = text.splitlines()
    gave_up, began = _lines_of(error, text)
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    if _INDENTED_BY_TAB.match(_at(lines, gave_up)):
        return gave_up, "a tab indents this line, and YAML indents by blanks.", "replace the tab by blanks."
    if "quoted scalar" in context and "end of" in problem:
        return began, "a quote is opened here and never closed.", "close it, or leave it out."
    if "simple key" in context and _KEY_WITHOUT_BLANK.match(_at(lines, began)):
        return (
            began,
            "a key ends with a colon and a blank, and here the blank is missing.",
            "put a blank after the colon.",
        )
    if problem == "mapping values are not allowed in this context":
        fix = "put text with a colon in it into quotes; or indent this line like the one above."
        return gave_up, "a second `key: value` begins inside of a value.", fix
    if "flow" in context and problem.startswith(("did not find expected", "expected")):
        return began, "a bracket or brace is opened here and not closed, or a comma is missing in it.", ""
    reason = ", ".join(part for part in (context, problem) if part) or str(getattr(error, "reason", error)).strip()
    return gave_up, f"is not YAML: {reason}.", ""


def _lines_of(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """Return the line where the parser gave up, and the one where what it was reading began."""
    if isinstance(error, yaml.MarkedYAMLError):
        problem, context = error.problem_mark or error.context_mark, error.context_mark or error.problem_mark
        return (1 if problem is None else int(problem.line) + 1), (1 if context is None else int(context.line) + 1)
    line = text.count("\n", 0, getattr(error, "position", 0)) + 1  # its reader tells a position only
    return line, line


def _at(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
