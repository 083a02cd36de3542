"""How the files of `dags/` read the specs, and all faults of these as one import error of a file without a DAG."""

from __future__ import annotations

from collections.abc import Collection

from sluice.settings import settings
from sluice.specs.load import Scan, scan
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.memo import Memo


def scan_for_dags(kinds: Collection[Kind] = tuple(Kind)) -> Scan:
    """Read the specs of the project; YAML that another file of `dags/` has understood is not parsed again.

    Args:
        kinds: see `scan`; a file of `dags/` is parsed twice a minute, and need not read what it makes nothing of.
    """
    memo = Memo(settings().folder.spec_memo)
    scanned = scan(settings().home / "include", parse=memo.parse, kinds=kinds)
    memo.save(whole=set(kinds) == set(Kind))
    return scanned


def raise_spec_errors() -> None:
    """Raise if any spec is broken.

    Raises:
        SpecFaults: with every fault of every file, `file:line` first.
    """
    faults = scan_for_dags().faults
    if faults:
        raise SpecFaults(faults)
