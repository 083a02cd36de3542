"""What the files say, before the rules between them are asked; and the form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice.contracts.breach import Loc
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.reading.document import Document
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind


@dataclass(frozen=True)
class Finding:
    """A fault, and the spec that it makes unusable. The fault may lie in another file, such as a transform."""

    key: Key
    fault: Fault


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

    def file(self, path: Path) -> str:
        """Return a file's name as faults show it."""
        return path.relative_to(self.home).as_posix()


Rule = Callable[[Reading], Iterator[Finding]]
