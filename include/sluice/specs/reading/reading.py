"""What the files say, before the rules between them are asked; and the form of a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.contracts.breach import Loc
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.spec import NAME_PATTERN
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.document import Document
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind


@dataclass(frozen=True)
class Finding:
    """A fault, and the spec that it makes unusable. The fault may lie in another file, such as a transform."""

    key: Key
    fault: Fault


SpecMisfit = tuple[Loc, str, str]
"""Where in a spec, what is wrong there, and what to do."""


ANY = "*"
"""Each key of a mapping, in a path of keys."""


@dataclass(frozen=True)
class SpecReference:
    """A place where a spec names another one.

    Attributes:
        owner: the spec that names it.
        loc: where.
        name: the other's.
    """

    owner: Key
    loc: Loc
    name: str


@dataclass(frozen=True)
class Reading:
    """The material that rules judge.

    Attributes:
        home: the project; files are named relative to it.
        include: the folder of the specs.
        catalog: the specs whose own file is sound; references may lead nowhere yet.
        documents: every file, also the broken ones.
        kinds: those that were read; of others nobody can say whether a spec exists.
    """

    home: Path
    include: Path
    catalog: Catalog
    documents: Mapping[Key, Document]
    kinds: Collection[Kind]

    @property
    def transforms(self) -> Path:
        """The package of the transforms."""
        return self.home / "spark_jobs" / "transforms"

    def finding(self, kind: Kind, name: str, loc: Loc, message: str, fix: str = "") -> Finding:
        """Return a fault at a value of a spec."""
        return Finding((kind, name), self.documents[kind, name].fault(loc, message, fix))

    def names(self, kind: Kind) -> list[str]:
        """Return the names of all specs of a kind, sound or broken, ordered."""
        return sorted(name for each, name in self.documents if each is kind)

    def absent(self, kind: Kind, name: str) -> tuple[str, str]:
        """Return what is wrong with naming a spec that does not exist, and what to do."""
        return f"there is no {kind} {name!r} in include/{kind.folder}.", nearest(name, self.names(kind))

    def references(self, kind: Kind, *paths: Sequence[str]) -> Iterator[SpecReference]:
        """Yield where specs of a kind name others: from their texts, so that their faults hide none.

        Args:
            kind: of the specs that are read.
            paths: the keys that lead to a name; `ANY` stands for each key of a mapping.
        """
        for own, document in self.documents.items():
            if own[0] is kind:
                found = (each for path in paths for each in _values_at(document.data, tuple(path)))
                # What is no name is a fault of its own.
                yield from (
                    SpecReference(own, loc, v) for loc, v in found if isinstance(v, str) and re.match(NAME_PATTERN, v)
                )

    def file(self, path: Path) -> str:
        """Return a file's name as faults show it."""
        return path.relative_to(self.home).as_posix()


def _values_at(data: object, path: tuple[str, ...], loc: Loc = ()) -> Iterator[tuple[Loc, object]]:
    if not path:
        yield loc, data
    elif isinstance(data, Mapping):
        for key in data if path[0] == ANY else (path[0],):
            if key in data:
                yield from _values_at(data[key], path[1:], (*loc, key))


Rule = Callable[[Reading], Iterator[Finding]]
