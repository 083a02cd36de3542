"""Which units are declared, and which of them are broken: a unit is as sound as all of its specs.

A broken spec still shows the unit that it belongs to, as long as its text names a driver. Such a unit is looked after
but never started, because a driver without one of its streams is not the unit that was declared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.load import Scan
from sluice.specs.reading.kinds import Kind

_DRIVER = re.compile(r"\bdriver:\s*[\"']?([a-z][a-z0-9_]{0,62})\b")


@dataclass(frozen=True)
class DeclaredUnit:
    """A unit, sound or broken.

    Attributes:
        unit: its sound streams.
        owners: the owners of its pipelines, ordered by name; empty if no pipeline names one.
        faults: what is wrong with its specs, one line each; empty if they stand.
    """

    unit: Unit
    owners: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The driver's name in the specs."""
        return self.unit.name


def declared_units(scan: Scan, include: Path) -> dict[str, DeclaredUnit]:
    """Return all units, sound and broken, by name.

    Args:
        scan: the specs.
        include: the folder that was scanned.
    """
    sound, faults, owners = scan.catalog.units(), _faults_by_unit(scan, include), _owners(scan.catalog)
    return {
        name: DeclaredUnit(
            sound.get(name, Unit(name, (), ())),
            tuple(sorted(owners.get(name, ()))),
            faults.get(name, ()),
        )
        for name in sorted(sound.keys() | faults.keys())
    }


def units_named_in(include: Path) -> set[str]:
    """Return the units that topics and pipelines name, sound or broken, without parsing any of them."""
    files = (file for kind in (Kind.TOPIC, Kind.PIPELINE) for file in (include / kind.folder).glob("*.yaml"))
    return {unit for file in files if (unit := _driver_named_in(file)) is not None}


def _owners(catalog: Catalog) -> Mapping[str, set[str]]:
    owners: dict[str, set[str]] = defaultdict(set)
    for pipeline in catalog.pipelines.values():
        owners[pipeline.driver].add(pipeline.owner)
    return owners


def _faults_by_unit(scan: Scan, include: Path) -> Mapping[str, tuple[str, ...]]:
    by_unit: dict[str, tuple[str, ...]] = {}
    for (kind, name), faults in sorted(scan.broken.items()):
        if kind not in (Kind.TOPIC, Kind.PIPELINE):
            continue
        unit = _driver_named_in(include / Kind(kind).folder / f"{name}.yaml")
        if unit is not None:
            by_unit[unit] = (*by_unit.get(unit, ()), *map(str, faults))
    return by_unit


def _driver_named_in(file: Path) -> str | None:
    """Return the driver that a broken file names: read as text, because it may not be YAML at all."""
    try:
        match = _DRIVER.search(file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return None if match is None else match[1]
