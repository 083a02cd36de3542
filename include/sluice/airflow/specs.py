"""How the files of `dags/` read the specs."""

from __future__ import annotations

from sluice.settings import settings
from sluice.specs.load import Scan, scan
from sluice.specs.memo import Memo


def scan_specs() -> Scan:
    """Read the specs of the project; YAML that another file of `dags/` has understood is not parsed again."""
    memo = Memo(settings().folder.spec_memo)
    found = scan(settings().home / "include", parse=memo.parse)
    memo.save()
    return found
