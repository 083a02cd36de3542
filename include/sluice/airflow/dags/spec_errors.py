"""All faults of all specs, as one import error of a file that builds no DAG."""

from __future__ import annotations

from sluice.airflow.dags.specs import scan_for_dags
from sluice.specs.reading.faults import SpecFaults


def raise_spec_errors() -> None:
    """Raise if any spec is broken.

    Raises:
        SpecFaults: with every fault of every file, `file:line` first.
    """
    faults = scan_for_dags().faults
    if faults:
        raise SpecFaults(faults)
