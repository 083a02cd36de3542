"""Whether this machine can run Sluice: judges the facts of `sluice.devstack.machine`. Every failure says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sluice.clock import SystemClock
from sluice.devstack.kafka.java import FIX, java_fault
from sluice.devstack.machine import Machine, inspect
from sluice.kafka.client.pem_files import expiries, pem_faults
from sluice.kafka.deployment_client import named_files
from sluice.settings import Settings
from sluice.specs.load import scan

GIB = 1024**3
MEMORY_BYTES = 6 * GIB
DISK_BYTES = GIB
"""A demo writes some 20 MB; the rest is room for shuffles, logs and Kafka's segments. Set-up is over by then."""
PYTHONS = ((3, 11), (3, 12), (3, 13))


@dataclass(frozen=True)
class Check:
    """One judgement. `fix` is empty when all is well."""

    name: str
    ok: bool
    found: str
    fix: str = ""


def checks(settings: Settings) -> list[Check]:
    """Check this machine and judge it, and the files by which it connects to the deployment's Kafka."""
    return [*judge(inspect(settings)), *tls_checks(settings, SystemClock().now())]


def tls_checks(settings: Settings, now: datetime) -> list[Check]:
    """Judge the files of TLS; nothing where the deployment names none, or is not sound."""
    deployment = scan(settings.home / "include").catalog.deployments.get(settings.deployment)
    if deployment is None or deployment.kafka.kind != "external":
        return []
    client = named_files(deployment.kafka)
    if faults := pem_faults(client, now):
        found, fix = "; ".join(map(str, faults)), " ".join(dict.fromkeys(fault.fix for fault in faults))
        return [Check("tls", ok=False, found=found, fix=fix)]
    ends = [f"{file} until {end:%Y-%m-%d}" for file, end in expiries(client).items()]
    return [Check("tls", ok=True, found=", ".join(ends))] if ends else []


def judge(machine: Machine) -> list[Check]:
    """Judge the facts."""
    system_fix = "use Linux, a Linux VM, or the containers of docker-compose.yaml."
    python_fix = "run `make clean`, then `make setup PYTHON=python3.12` (3.11, 3.12 and 3.13 are supported)."
    jars = machine.missing_jars
    jars_found = f"{len(jars)} are missing or changed, {jars[0]} among them" if jars else "all there and verified"
    return [
        _check("system", machine.system == "Linux", machine.system, system_fix),
        _check("python", machine.python in PYTHONS, ".".join(map(str, machine.python)), python_fix),
        _java(machine),
        _memory(machine),
        _disk(machine),
        _ports(machine),
        _check("jars", not jars, jars_found, "run `make setup`."),
        _pyspark(machine),
    ]


def _check(name: str, ok: bool, found: str, fix: str) -> Check:
    return Check(name, ok, found, "" if ok else fix)


def _java(machine: Machine) -> Check:
    fault = java_fault(machine.java, machine.java_home)
    found = f"Java {machine.java.version}, {machine.java.path}" if machine.java and not fault else fault
    return _check("java", not fault, found, FIX)


def _memory(machine: Machine) -> Check:
    found = f"{machine.memory_bytes / GIB:.1f} GiB available"
    if machine.stack_is_up:
        return Check("memory", ok=True, found=f"{found} beside the stack, which is up")
    fix = f"close something, or raise the container's limit: the stack and one driver need {MEMORY_BYTES // GIB} GiB."
    return _check("memory", machine.memory_bytes >= MEMORY_BYTES, found, fix)


def _disk(machine: Machine) -> Check:
    found = f"{machine.disk_bytes / GIB:.1f} GiB free for {machine.state}"
    if not machine.state_is_writable:
        fix = "make it writable for this user, or name another folder with SLUICE_STATE."
        return Check("disk", ok=False, found=f"{machine.state} cannot be written", fix=fix)
    fix = f"free some space ({DISK_BYTES // GIB} GiB is needed), or name another folder with SLUICE_STATE."
    return _check("disk", machine.disk_bytes >= DISK_BYTES, found, fix)


def _ports(machine: Machine) -> Check:
    """Never a failure: a stack moves to ports that are free."""
    taken = [port for port, free in machine.free_ports.items() if not free]
    if machine.stack_is_up:
        return Check("ports", ok=True, found="the stack is up and has its ports")
    if taken:
        return Check("ports", ok=True, found=f"taken: {', '.join(taken)}; the stack takes the next free ones")
    return Check("ports", ok=True, found=f"free: {', '.join(machine.free_ports)}")


def _pyspark(machine: Machine) -> Check:
    """Both write into one folder: with two versions, files of either are left in it."""
    pyspark, client = machine.pyspark
    found = f"pyspark {pyspark or 'not installed'}, pyspark-client {client or 'not installed'}"
    return _check("pyspark", pyspark != "" and pyspark == client, found, "run `make clean`, then `make setup`.")
