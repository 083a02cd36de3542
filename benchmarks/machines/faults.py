"""Hosts, networks, disks and processes that fail under a stream, one after the other, while records keep coming.

Three brokers in racks, a Spark master, two workers and a driver run on hosts of their own (network namespaces). A
sender notes of each record whether it was acknowledged. Each fault is held for some seconds, proves that it has fired,
and is healed; then all that the topic holds has to arrive before the next one.

`faults`: how many have proven that they fired; `unproven`: how many have not. `lost`: acknowledged records that the
topic lacks, records of the topic that the raw table lacks, and sound ones that the output lacks. `twice`: numbers that
the topic, the raw table or the output hold more than once. `strange`: what a table holds and the topic does not, or
what validation should have refused.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machines.fault_cluster import BROKERS, DRIVER, NAMES, TOPIC, WORKERS, FaultCluster
from benchmarks.machines.fault_sender import is_bad
from benchmarks.machines.hosts import running_hosts
from benchmarks.trials import TrialError
from sluice.devstack.spark_cluster import MASTER, worker_name
from sluice.streams.failures.exits import ExitCode

_PER_SECOND = 40
_HELD_SECONDS = 10.0
"""Longer than a broker's session, so that the controller takes it for dead."""
_BROKER_DISK, _STATE_DISK = "400m", "900m"
_PIECE_BYTES = 64 * 1024


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of all faults, of four of them for `small`, or of those whose names are given with commas."""
    chosen = FAULTS if size == "full" else {name: FAULTS[name] for name in _SMALL_ONES.get(size) or size.split(",")}
    with (
        running_hosts(*NAMES) as hosts,
        tempfile.TemporaryDirectory(prefix="sluice-faults-") as folder,
        _disks(Path(folder) / "k3", Path(folder) / "state"),
    ):
        cluster = FaultCluster(Path(folder), hosts)
        try:
            cluster.prepare()
            cluster.start_all()
            proofs, seconds, outcomes = _suffered(cluster, chosen)
            found = _judged(cluster, outcomes)
        finally:
            cluster.end()
    fired = sum(bool(proof) for proof in proofs.values())
    exits = {str(generation): _named(code) for generation, code in cluster.exits.items()}
    return {"faults": fired, "unproven": len(proofs) - fired, **found}, {
        "size": size,
        "proofs": proofs,
        "recovery_s": seconds,
        "drivers": exits,
    }


def _suffered(
    cluster: FaultCluster, chosen: Mapping[str, Fault]
) -> tuple[dict[str, str], dict[str, float], dict[int, str]]:
    """Let each fault happen; return its proof, how long it took until all was read again, and the sender's notes."""
    proofs, seconds = {}, {}
    notes = cluster.folder / "outcomes.txt"
    with _sending(cluster, notes):
        cluster.wait(lambda: _acknowledged(notes) > _PER_SECOND, "records are sent", 60)
        cluster.wait_caught_up()
        for name, fault in chosen.items():
            with fault(cluster) as proof:
                time.sleep(_HELD_SECONDS)
                proofs[name] = proof()
            healed, known = time.monotonic(), _acknowledged(notes)
            cluster.wait(lambda known=known: _acknowledged(notes) > known, "records are acknowledged", 120)
            cluster.wait_caught_up()
            seconds[name] = round(time.monotonic() - healed, 1)
            print(f"{name}: {proofs[name]}; all read after {seconds[name]} s", file=sys.stderr, flush=True)
    cluster.wait_all_kept()
    lines = (line.split() for line in notes.read_text(encoding="utf-8").splitlines())
    return proofs, seconds, {int(number): outcome for number, outcome in lines}


def _judged(cluster: FaultCluster, outcomes: Mapping[int, str]) -> dict[str, int]:
    """Compare what was sent, what the topic holds and what both tables hold.

    Args:
        cluster: after all is read.
        outcomes: what became of each record that was sent, by its number.
    """
    topic, raw, kept = cluster.in_topic(), Counter(cluster.in_raw_table()), Counter(cluster.kept())
    sent = Counter(topic.values())
    acknowledged = {number for number, outcome in outcomes.items() if outcome == "acknowledged"}
    sound = {number for number in topic.values() if not is_bad(number)}
    return {
        "acknowledged": len(acknowledged),
        "unknown": sum(outcome == "unknown" for outcome in outcomes.values()),
        "records": len(topic),
        "lost": len(acknowledged - sent.keys()) + len(topic.keys() - raw.keys()) + len(sound - kept.keys()),
        "twice": sum(sent.values()) - len(sent) + raw.total() - len(raw) + kept.total() - len(kept),
        "strange": len(raw.keys() - topic.keys()) + len(kept.keys() - sound),
    }


@contextmanager
def _sending(cluster: FaultCluster, notes: Path) -> Iterator[None]:
    """Send from beside the switch until the block ends."""
    words = [sys.executable, "-m", "benchmarks.machines.fault_sender"]
    words += [",".join(cluster.bootstrap), TOPIC, str(notes), str(_PER_SECOND)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(90)
        except subprocess.TimeoutExpired:
            process.kill()
            raise TrialError("the sender does not end") from None


@contextmanager
def _disks(broker: Path, state: Path) -> Iterator[None]:
    """Give a broker and the driver small disks of their own."""
    sizes = {broker: _BROKER_DISK, state: _STATE_DISK}
    mounted: list[Path] = []
    try:
        for folder, size in sizes.items():
            folder.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True)
            mounted.append(folder)
        yield
    finally:
        for folder in mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


Proof = Callable[[], str]
Fault = Callable[[FaultCluster], Any]


def _broker_killed(cluster: FaultCluster) -> Any:  # noqa: ANN401 - a context manager
    return _killed_and_started(cluster, "k1")


@contextmanager
def _killed_and_started(cluster: FaultCluster, name: str) -> Iterator[Proof]:
    proof = cluster.kill(name)
    yield lambda: proof
    cluster.start(name)


@contextmanager
def _two_brokers_killed(cluster: FaultCluster) -> Iterator[Proof]:
    """Nothing can be acknowledged meanwhile."""
    proof = f"{cluster.kill('k1')}, {cluster.kill('k2')}"
    yield lambda: proof
    cluster.start("k1")
    cluster.start("k2")


@contextmanager
def _broker_frozen(cluster: FaultCluster) -> Iterator[Proof]:
    pid = cluster.processes["k2"].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield lambda: _frozen(pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def _cut(name: str, ways: Sequence[str] = ("INPUT", "OUTPUT"), peer: str = "") -> Fault:
    @contextmanager
    def fault(cluster: FaultCluster) -> Iterator[Proof]:
        with cluster.hosts.cut(name, ways, peer) as dropped:
            yield dropped.proof

    return fault


@contextmanager
def _brokers_parted(cluster: FaultCluster) -> Iterator[Proof]:
    """A leader and one of its followers; two that only follow have nothing to say to each other."""
    leader, follower = cluster.leader_and_follower()
    with cluster.hosts.cut(leader, peer=follower) as dropped:
        yield dropped.proof


@contextmanager
def _broker_slow(cluster: FaultCluster) -> Iterator[Proof]:
    with cluster.hosts.slow("k1", "64kbit") as delayed:
        yield delayed.proof


@contextmanager
def _brokers_disk_full(cluster: FaultCluster) -> Iterator[Proof]:
    """A broker that cannot write ends, and is started when there is room."""
    ballast = _filled(cluster.folder / "k3")
    process = cluster.processes["k3"]

    def proof() -> str:
        cluster.wait(lambda: process.poll() is not None, "the broker without room ends", 60)
        said = "No space left on device" in cluster.whole_log("k3")
        return f"ended with {process.returncode}, no space left" if said else ""

    yield proof
    ballast.unlink()
    cluster.processes.pop("k3")
    cluster.start("k3")


@contextmanager
def _drivers_disk_full(cluster: FaultCluster) -> Iterator[Proof]:
    ballast, name, generation = _filled(cluster.state), cluster.driver_name, cluster.generation

    def proof() -> str:
        cluster.wait(lambda: cluster.processes[name].poll() is not None, "the driver without room ends", 120)
        cluster.exits[generation] = code = cluster.processes[name].returncode
        return f"the driver ended with {_named(code)}" if code == ExitCode.DISK_FULL else ""

    yield proof
    ballast.unlink()


@contextmanager
def _executor_killed(cluster: FaultCluster) -> Iterator[Proof]:
    worker = worker_name(1)
    cluster.wait(lambda: bool(cluster.executors(worker)), "a worker has an executor", 120)
    (before, *_) = cluster.executors(worker)
    os.kill(before, signal.SIGKILL)

    def proof() -> str:
        cluster.wait(lambda: cluster.executors(worker) not in ([], [before]), "there is another executor", 120)
        return f"executor {before} was followed by {cluster.executors(worker)[0]}"

    yield proof


@contextmanager
def _driver_killed(cluster: FaultCluster) -> Iterator[Proof]:
    process = cluster.driver
    process.kill()
    yield lambda: f"process {process.pid} ended with {process.wait(20)}"


@contextmanager
def _jvm_killed(cluster: FaultCluster) -> Iterator[Proof]:
    process, jvm, generation = cluster.driver, cluster.jvm(), cluster.generation
    os.kill(jvm, signal.SIGKILL)

    def proof() -> str:
        cluster.exits[generation] = code = process.wait(120)
        return f"JVM {jvm} killed, its driver ended with {_named(code)}"

    yield proof


@contextmanager
def _driver_frozen(cluster: FaultCluster) -> Iterator[Proof]:
    """Another driver takes over meanwhile; the one that wakes up has to see it, and publish nothing more."""
    name, generation = cluster.driver_name, cluster.generation
    process = cluster.processes[name]
    cluster.signal_driver(name, signal.SIGSTOP)
    cluster.start_driver()
    cluster.wait_caught_up()

    def proof() -> str:
        frozen = _frozen(process.pid)
        cluster.signal_driver(name, signal.SIGCONT)
        cluster.exits[generation] = code = process.wait(180)
        return f"{frozen}, then ended with {_named(code)}" if frozen and code == ExitCode.FENCED else ""

    yield proof


def _frozen(pid: int) -> str:
    state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return f"process {pid} stopped" if state == "T" else ""


def _filled(folder: Path) -> Path:
    """Write until nothing is left, while others may write, too."""
    ballast = folder / "ballast"
    piece = bytes(_PIECE_BYTES)
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(piece):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return ballast


def _named(code: int) -> str:
    return ExitCode(code).name if code >= 0 else signal.Signals(-code).name


def _acknowledged(notes: Path) -> int:
    return notes.read_text(encoding="utf-8").count(" acknowledged\n") if notes.exists() else 0


FAULTS: Mapping[str, Fault] = {
    "broker_killed": _broker_killed,
    "broker_frozen": _broker_frozen,
    "broker_cut_off": _cut("k3"),
    "broker_is_not_heard": _cut("k1", ways=("OUTPUT",)),
    "broker_does_not_hear": _cut("k2", ways=("INPUT",)),
    "brokers_parted": _brokers_parted,
    "broker_slow": _broker_slow,
    "brokers_disk_full": _brokers_disk_full,
    "two_brokers_killed": _two_brokers_killed,
    "executor_killed": _executor_killed,
    "worker_killed": lambda cluster: _killed_and_started(cluster, worker_name(2)),
    "worker_cut_off": _cut(WORKERS[0]),
    "master_killed": lambda cluster: _killed_and_started(cluster, MASTER),
    "driver_killed": _driver_killed,
    "jvm_killed": _jvm_killed,
    "driver_frozen": _driver_frozen,
    "driver_cut_off_from_a_broker": _cut(DRIVER, peer=BROKERS[0]),
    "driver_cut_off": _cut(DRIVER),
    "drivers_disk_full": _drivers_disk_full,
}
"""Each is entered when it happens, gives what returns its proof, and is left when it is healed."""
_SMALL_ONES = {"small": ("broker_killed", "broker_cut_off", "executor_killed", "driver_killed")}
