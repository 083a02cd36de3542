"""Which masters drivers run on, and why not on others: one rule for deployments, settings and Airflow's connection."""

from __future__ import annotations

import re

STANDALONE = "spark://"
"""Begins the address of a standalone cluster's masters."""
_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)\])?")
_HOST = r"[A-Za-z0-9._-]+:\d{1,5}"
_MAX_PORT = 65_535
_STANDALONE = re.compile(rf"{STANDALONE}{_HOST}(,{_HOST})*")
_REFUSED = {
    "yarn": "drivers are not run on YARN: its ResourceManager has no page that lists free cores as a standalone master "
    "does, and a driver without any would wait there and seem to work",
    "k8s": "drivers are not run on Kubernetes so far",
    "mesos": "drivers are not run on Mesos, which Spark itself has given up since version 4",
}
_INSTEAD = "write `local`, or a standalone master: `spark://host:7077`, with `,host:7077` for each that stands by"


def master_fault(master: str) -> str:
    """Return why drivers cannot run on a master and what to write, as a clause without an end; empty if they can."""
    if _LOCAL.fullmatch(master):
        return ""
    if _STANDALONE.fullmatch(master):
        return _fault_of(masters_of(master))
    name = master.partition(":")[0].partition("-")[0].lower()
    return f"found {master!r}, {_named(name)}; {_INSTEAD}"


def masters_of(master: str) -> tuple[str, ...]:
    """Return `host:port` of each master in `spark://host:port,host:port`."""
    return tuple(master.removeprefix(STANDALONE).split(","))


def _named(name: str) -> str:
    return f"and {_REFUSED[name]}" if name in _REFUSED else "which is no master"


def _fault_of(masters: tuple[str, ...]) -> str:
    """Return what is wrong with the hosts of a well-formed standalone address."""
    if twice := next((each for each in masters if masters.count(each) > 1), None):
        return f"found {twice!r} in it twice; name each master once"
    over = next((each for each in masters if not 0 < int(each.rpartition(":")[2]) <= _MAX_PORT), None)
    return f"found {over!r}, whose port is none; write one of 1 to 65535" if over else ""
