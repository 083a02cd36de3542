"""Templates into HTML: whatever comes from data is escaped, and a name that nobody gave is an error.

A page is one file without script, font or picture from elsewhere: it is read from a disk, years later, by somebody
without a network.
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


def render(template: str, **context: object) -> str:
    """Return a page.

    Args:
        template: a file in `reports/templates/` that extends `page.html`.
        context: what it names; `page.html` itself needs `title`, `verdict`, `tone` and `facts` (name → text).

    Raises:
        jinja2.TemplateNotFound: there is no such template.
        jinja2.UndefinedError: it names something that was not given.
    """
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("sluice.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
