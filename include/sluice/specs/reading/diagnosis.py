"""What the model refuses, in words for the person who wrote the spec."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import groupby
from typing import TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sluice.contracts.breach import Loc
from sluice.specs.deployments.secrecy import is_secret
from sluice.specs.model.spec import (
    ADDRESS_PATTERN,
    MEMORY_PATTERN,
    NAME_PATTERN,
    TRANSFORM_PATTERN,
    VARIABLE_PATTERN,
    Spec,
)
from sluice.specs.reading.document import Document
from sluice.specs.reading.faults import Fault

S = TypeVar("S", bound=Spec)

_WORDING = {
    "missing": "the key is missing.",
    "extra_forbidden": "no such key is known here.",
    "value_error": "{error}.",
    "enum": "found {found}; it must be {expected}.",
    "literal_error": "found {found}; it must be {expected}.",
    "union_tag_invalid": "{discriminator} is {tag!r}; it must be one of {expected_tags}.",
    "union_tag_not_found": "the key {discriminator} is missing.",
    "greater_than_equal": "found {found}; it must be at least {ge}.",
    "less_than_equal": "found {found}; it must be at most {le}.",
    "too_short": "it is empty; it needs at least one entry.",
    "string_pattern_mismatch": "found {found}, which does not have the form {pattern}.",
    "string_type": "found {found} where text is needed.",
    "int_type": "found {found} where a whole number is needed.",
    "float_type": "found {found} where a number is needed.",
    "finite_number": "found a number that is not finite.",
    "bool_type": "found {found} where true or false is needed.",
    "dict_type": "found {found} where a mapping is needed.",
    "model_type": "found {found} where a mapping is needed.",
    "tuple_type": "found {found} where a list is needed.",
}
_FORMS: Mapping[str, str] = {
    NAME_PATTERN: "{found} is no name: a lower-case letter, then at most 62 of a-z, 0-9 and underscore.",
    TRANSFORM_PATTERN: "found {found}; it must be `module:function`, such as sales:totals for the function totals in "
    "spark_jobs/transforms/sales.py, or the name of a file with one SELECT, such as totals.sql.",
    MEMORY_PATTERN: "found {found}; it must be a whole number with m or g behind it, such as 700m or 2g.",
    VARIABLE_PATTERN: "found {found}; it must be the name of a variable, in capitals: SLUICE_PASSWORD_…",
    ADDRESS_PATTERN: "found {found}; it must be host:port, such as kafka.example.org:9092.",
}
"""What text of a form has to look like, in words."""
_OTHER_TYPES = {
    **dict.fromkeys(("int64", "bigint"), "long"),
    **dict.fromkeys(("int", "int32", "short"), "integer"),
    **dict.fromkeys(("float", "number", "real"), "double"),
    **dict.fromkeys(("numeric", "money"), "decimal"),
    **dict.fromkeys(("text", "str", "varchar", "uuid", "enum"), "string"),
    **dict.fromkeys(("datetime", "time", "instant"), "timestamp"),
    **dict.fromkeys(("bytes", "blob"), "binary"),
    **dict.fromkeys(("struct", "record", "json"), "object"),
    **dict.fromkeys(("list", "repeated"), "array"),
    **dict.fromkeys(("dict", "dictionary"), "map"),
}
"""Types of other systems, and what comes near."""
_YES, _NO = ("yes", "y", "on", "true"), ("no", "n", "off", "false")
_ONE_WORD, _DIGITS = re.compile(r"[\w.:-]+"), re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
_OTHERWISE = "found {found}: {message}."
_RENAMED_KEYS = {"tell": "notify"}
"""Keys that specs had, and what they are called now."""
_WIDTH = 60
"""How much of a value fits beside a path in a terminal."""


def read_spec(model: type[S], document: Document) -> S | tuple[Fault, ...]:
    """Return the spec in a document, or what is wrong with it.

    Values are taken strictly, as in JSON: no text passes for a number and no number for text.
    """
    try:
        return model.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        return tuple(_faults(error.errors(include_url=False), model, document))


def nearest(word: str, known: Iterable[str]) -> str:
    """Return advice for a word that is not known: the one it resembles, or all that there are."""
    words = list(known)
    if close := get_close_matches(word, words, n=1):
        return f"did you mean {close[0]!r}?"
    return f"known here: {', '.join(words)}." if words else ""


def _faults(errors: Iterable[ErrorDetails], model: type[Spec], document: Document) -> Iterator[Fault]:
    """Turn errors into faults: one per place, though a union reports every alternative that does not fit.

    A misspelt key is one fault, not an unknown key and a missing one, nor what is wrong with its default.
    """
    placed_errors = [(_written(error, document.data), error) for error in errors]
    meant = {_meant(model, loc) for loc, error in placed_errors if error["type"] == "extra_forbidden"}
    misspelt_in = {loc[:-1] for loc in meant if loc[-1] in known_keys(model, loc[:-1])}
    placed = [(loc, error) for loc, error in placed_errors if not _follows(loc, error, meant, misspelt_in)]
    for loc, group in groupby(placed, key=lambda pair: pair[0]):
        alternatives = [error for _, error in group]
        message = "; nor: ".join(_message(error, loc).removesuffix(".") for error in alternatives) + "."
        yield document.fault(loc, message, _fix(alternatives[0], model, loc))


def _follows(loc: Loc, error: ErrorDetails, meant: set[Loc], misspelt_in: set[Loc]) -> bool:
    """Whether an error only follows from another: a key beside it is misspelt, or an entry of a list is wrong."""
    if error["type"] == "missing":
        return loc in meant
    if error["type"] == "too_short":  # a list whose entries are wrong counts as empty
        return bool(error["input"])
    left_out = error["type"] == "value_error" and len(error["loc"]) == len(loc) + 1  # a default was judged
    return left_out and loc in misspelt_in


def _meant(model: type[Spec], loc: Loc) -> Loc:
    """Return the place of the known key that an unknown one resembles or became, or the unknown one's own."""
    key, known = str(loc[-1]), known_keys(model, loc[:-1])
    return (*loc[:-1], *(_renamed(key, known) or get_close_matches(key, known, n=1) or loc[-1:]))


def _renamed(key: str, known: Iterable[str]) -> list[str]:
    """Return what a key is called now, if it was renamed at its place."""
    return [name for name in known if name == _RENAMED_KEYS.get(key)]


def _written(error: ErrorDetails, data: object) -> Loc:
    """Return an error's place without the parts that pydantic adds: union tags, validators, key marks."""
    loc: Loc = ()
    entered: object = None
    for part in error["loc"]:
        children = dict(enumerate(data)) if isinstance(data, list) else data
        if isinstance(children, dict) and children is not entered and children.get("kind") == part:
            entered = children  # a union's tag, which may also be a key of the mapping
        elif isinstance(children, dict) and part in children:
            data, loc = children[part], (*loc, part)
    return (*loc, error["loc"][-1]) if error["type"] == "missing" else loc


def _message(error: ErrorDetails, loc: Loc) -> str:
    context = error.get("ctx", {})
    wording = _WORDING.get(error["type"], _OTHERWISE)
    if error["type"] == "string_pattern_mismatch":
        wording = _FORMS.get(context["pattern"], wording)
    value = "a value" if _is_of_secret(loc) else shown(error["input"])
    return wording.format(found=value, message=error["msg"], **context)


def _is_of_secret(loc: Loc) -> bool:
    return any(is_secret(str(part)) for part in loc)


def _fix(error: ErrorDetails, model: type[Spec], loc: Loc) -> str:
    match error["type"]:
        case "extra_forbidden":
            return _fix_of_key(str(loc[-1]), known_keys(model, loc[:-1]))
        case "enum" | "literal_error" if isinstance(error["input"], str):
            expected = error["ctx"]["expected"].replace(" or ", ", ").split(", ")
            words = [word.strip("'") for word in expected]
            other = _OTHER_TYPES.get(error["input"].lower())
            close = [other] if other in words else get_close_matches(error["input"], words, n=1)
            return f"did you mean {close[0]!r}?" if close else ""
        case "model_type":
            return f"write its keys below it: {', '.join(known_keys(model, loc))}."
        case kind:  # it may show the value
            return "" if _is_of_secret(loc) else _fix_of_type(kind, error["input"])


def _fix_of_key(key: str, known: list[str]) -> str:
    """Return what to write instead of a key that is not known."""
    if renamed := _renamed(key, known):
        return f"it is called `{renamed[0]}` now."
    if key in known:  # of another form of the same mapping
        return "it does not go together with another key that is here; remove one of the two."
    return nearest(key, known)


def _fix_of_type(kind: str, value: object) -> str:
    """Return what to write instead of a value of another type."""
    fix = ""
    match kind, value:
        case "string_type", bool() | int() | float():
            fix = "put it in quotes."
        case "string_type", list():
            fix = "write one value, without brackets or dashes."
        case "tuple_type", str() if _ONE_WORD.fullmatch(value):
            fix = f"write a list: [{value}]."
        case "tuple_type", _:
            fix = "write a list: each entry on a line of its own that begins with a dash."
        case "dict_type", _:
            fix = "write `key: value` for each."
        case "int_type" | "float_type", str():
            fix = f"write it without quotes: {value}." if _DIGITS.fullmatch(value) else "write it in digits."
        case "bool_type", str() if value.lower() in (*_YES, *_NO):
            fix = f"write {str(value.lower() in _YES).lower()}, without quotes."
    return fix


def known_keys(model: type[Spec], loc: Loc) -> list[str]:
    """Return the keys that a spec may have at a place."""
    models = [model]
    for part in loc:
        fields = [owner.model_fields[str(part)] for owner in models if part in owner.model_fields]
        entered = [model for field in fields for model in _models_in(field.annotation)]
        # A part that is no field is the key of a mapping or a position in a list: the models stay the same.
        models = entered or models
    return list(dict.fromkeys(key for owner in models for key in owner.model_fields))


def _models_in(annotation: object) -> list[type[Spec]]:
    """Return the spec models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def shown(value: object) -> str:
    """Return a value as a message shows it: short, and text in quotes."""
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
