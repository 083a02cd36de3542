"""What the files say, before the rules between them are asked; and the form of a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
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


@dataclass(frozen=True)
class Reading:
    """The material that rules judge.

    Attributes:
        home: the project; files are named relative to it.
        include: the folder of the specs.
        catalog: the specs whose own file is sound; references may lead nowhere yet.
        documents: every file, also the broken ones.
    """

    home: Path
    include: Path
    catalog: Catalog
    documents: Mapping[Key, Document]

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

    def references(self, kind: Kind, key: str) -> dict[Key, str]:
        """Return which spec of a kind names which other under a key: from its text, so that its faults hide none."""
        named = {own: (document.data or {}).get(key) for own, document in self.documents.items() if own[0] is kind}
        # What is no name is a fault of its own.
        return {own: name for own, name in named.items() if isinstance(name, str) and re.match(NAME_PATTERN, name)}

    def file(self, path: Path) -> str:
        """Return a file's name as faults show it."""
        return path.relative_to(self.home).as_posix()


Rule = Callable[[Reading], Iterator[Finding]]
