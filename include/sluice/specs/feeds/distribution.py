"""How a simulator draws the values of one field."""

from __future__ import annotations

from string import Formatter
from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, field_validator, model_validator

from sluice.specs.model.spec import Name, Spec

MAX_VALUES = 100_000
"""Of one field whose values are counted out; each has a weight in memory."""
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Share = Annotated[float, Field(ge=0, le=1)]
_Positive = Annotated[float, Field(gt=0)]
_KINDS = (
    "sequence", "constant", "choice", "zipf", "uniform", "normal", "exponential", "lognormal", "text",
)  # fmt: skip
_NUMERIC = frozenset({"uniform", "normal", "exponential", "lognormal"})
_ONLY_OF = {
    "exponent": frozenset({"zipf"}),
    "prefix": frozenset({"zipf"}),
    "digits": _NUMERIC,
    "least": _NUMERIC,
    "most": _NUMERIC,
}


class Distribution(Spec):
    """One of `sequence` to `text` says what is drawn; the other keys bound or shape it."""

    sequence: str | None = None
    """The events are numbered from 1, behind this text; empty: the numbers themselves."""
    constant: Scalar | None = None
    choice: tuple[Scalar, ...] | dict[str, _Positive] | None = Field(default=None, min_length=1, max_length=MAX_VALUES)
    """One of a list, each as likely; or of a mapping from a text to its weight."""
    zipf: int | None = Field(default=None, ge=1, le=MAX_VALUES)
    """One of so many texts, `prefix` and a number n from 1, drawn in proportion to 1 / n to the `exponent`."""
    uniform: tuple[float, float] | None = None
    """A number between two."""
    normal: tuple[float, float] | None = None
    """A number around a mean, with a standard deviation."""
    exponential: _Positive | None = None
    """A number above 0 with this mean."""
    lognormal: tuple[_Positive, float] | None = None
    """A number above 0 with a median, and the standard deviation of its logarithm."""
    text: str | None = None
    """Text in which `{name}` stands for a field above it, or for one of the topic's times."""
    exponent: _Positive = 1.1
    prefix: str = ""
    digits: int = Field(default=2, ge=0, le=9)
    """Digits behind the point of a number; 0: a whole number."""
    least: float | None = None
    most: float | None = None
    """A number outside [least, most] becomes the nearer bound."""
    absent: Share = 0.0
    """The share of events that lack it."""
    many: tuple[int, int] | None = None
    """An array of so many different values, at least and at most; fewer where there are no more."""
    per: Name | None = None
    """A field above it: for each of its values this one is drawn once."""

    @property
    def kind(self) -> str:
        """The key that says what is drawn."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def mentions(self) -> tuple[str, ...]:
        """The fields that it is made of."""
        named = [] if self.text is None else names_in(self.text)
        return (*named, *([] if self.per is None else [self.per]))

    @field_validator("text")
    @classmethod
    def _text_names_fields(cls, text: str | None) -> str | None:
        if text is not None:
            names_in(text)
        return text

    @field_validator("many")
    @classmethod
    def _counts_rise(cls, many: tuple[int, int] | None) -> tuple[int, int] | None:
        if many is not None and not 0 <= many[0] <= many[1] <= MAX_VALUES:
            raise ValueError(f"{list(many)} are no counts from the least to the most; write such as [0, 3]")
        return many

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        said = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(said) != 1:
            found = "nothing of" if not said else f"{' and '.join(f'`{kind}`' for kind in said)}, of"
            raise ValueError(f"found {found} {', '.join(_KINDS)}; write exactly one of them")
        for key in sorted(self.model_fields_set & _ONLY_OF.keys()):
            if said[0] not in _ONLY_OF[key]:
                raise ValueError(f"`{key}` is only of {', '.join(sorted(_ONLY_OF[key]))}; remove it")
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            raise ValueError(f"uniform {list(self.uniform)} ends before it begins; swap the two")
        for deviation in (self.normal, self.lognormal):
            if deviation is not None and deviation[1] < 0:
                raise ValueError(f"a standard deviation of {deviation[1]:g} is below 0")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"`least` {self.least:g} is above `most` {self.most:g}")
        return self


def names_in(template: str) -> list[str]:
    """Return the names in the braces of a template.

    Raises:
        ValueError: something else is in braces.
    """
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"{template!r} is no template: {error}; a brace itself is written twice") from error
    for _, name, form, conversion in parts:
        if name is not None and (form or conversion or not name.isidentifier()):
            raise ValueError(f"{template!r} has more in braces than the name of a field")
    return [name for _, name, _, _ in parts if name is not None]
