"""Hosts on one machine: network namespaces with an address each, joined by a switch, whose networks can fail.

What is dropped is counted by the rule that drops it, so that a fault that did nothing is known. The switch has a
namespace of its own: rules of the machine for forwarded packets do not reach it. Everything is gone at the end.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.trials import TrialError

_CLONE_NEWNET = 0x40000000
_PROGRAMS = ("ip", "iptables", "tc")
_NETWORK = "10.214.7"
_SWITCH = 254


class Hosts:
    """Hosts by their names.

    Args:
        names: of at most a letter and two digits.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def address(self, name: str) -> str:
        """Return the address of a host."""
        return f"{_NETWORK}.{self._names.index(name) + 1}"

    def on(self, name: str, *command: str) -> list[str]:
        """Return a command that runs on a host."""
        return ["ip", "netns", "exec", self._space(name), *command]

    @contextmanager
    def cut(self, name: str, ways: Sequence[str] = ("INPUT", "OUTPUT"), peer: str = "") -> Iterator[Dropped]:
        """Drop what a host is sent, what it sends, or both, until the block ends.

        Args:
            name: the host.
            ways: `INPUT` is what comes to it, `OUTPUT` what it sends.
            peer: only what is exchanged with this host; empty: with all.
        """
        rules = [self._rule(way, peer) for way in ways]
        for rule in rules:
            _run(self.on(name, "iptables", "-A", *rule))
        try:
            yield Dropped(self, name)
        finally:
            for rule in rules:
                _run(self.on(name, "iptables", "-D", *rule))

    @contextmanager
    def slow(self, name: str, rate: str) -> Iterator[Delayed]:
        """Let a host send no faster than this, such as `256kbit`, until the block ends."""
        limit = ["rate", rate, "burst", "16kb", "latency", "3s"]
        _run(self.on(name, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *limit))
        try:
            yield Delayed(self, name)
        finally:
            _run(self.on(name, "tc", "qdisc", "del", "dev", "eth0", "root"))

    def _rule(self, way: str, peer: str) -> list[str]:
        coming = way == "INPUT"
        of_peer = ["-s" if coming else "-d", self.address(peer)] if peer else []
        return [way, "-i" if coming else "-o", "eth0", *of_peer, "-j", "DROP"]

    def _space(self, name: str) -> str:
        return f"sl{os.getpid()}{name}"

    def _up(self) -> None:
        switch = self._space("sw")
        _run(["ip", "netns", "add", switch])
        _in(switch, "link set lo up")
        _in(switch, "link add br0 type bridge")
        _in(switch, f"addr add {_NETWORK}.{_SWITCH}/24 dev br0")
        _in(switch, "link set br0 up")
        for name in self._names:
            space = self._space(name)
            _run(["ip", "netns", "add", space])
            _in(switch, f"link add {name} type veth peer name eth0 netns {space}")
            _in(switch, f"link set {name} master br0 up")
            _in(space, f"addr add {self.address(name)}/24 dev eth0")
            _in(space, "link set eth0 up")
            _in(space, "link set lo up")

    def _enter(self) -> None:
        """Put this process beside the switch, from where it reaches every host."""
        with Path(f"/run/netns/{self._space('sw')}").open() as space:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(space.fileno(), _CLONE_NEWNET):
                raise TrialError(f"the switch cannot be entered ({os.strerror(ctypes.get_errno())})")

    def _down(self) -> None:
        for name in (*self._names, "sw"):
            subprocess.run(["ip", "netns", "del", self._space(name)], check=False, capture_output=True)


class Dropped:
    """What the rules of a host have dropped."""

    def __init__(self, hosts: Hosts, name: str) -> None:
        self._command = hosts.on(name, "iptables", "-L", "-v", "-x", "-n")

    def proof(self) -> str:
        """Return how many packets were dropped; empty if none."""
        lines = (line.split() for line in _run(self._command).splitlines())
        count = sum(int(words[0]) for words in lines if words[2:3] == ["DROP"])
        return f"{count} packets dropped" if count else ""


class Delayed:
    """What the limit of a host has held up."""

    def __init__(self, hosts: Hosts, name: str) -> None:
        self._command = hosts.on(name, "tc", "-s", "qdisc", "show", "dev", "eth0")

    def proof(self) -> str:
        """Return how often a packet had to wait; empty if never."""
        words = _run(self._command).replace(")", " ").replace(",", " ").split()
        count = int(words[words.index("overlimits") + 1])
        return f"{count} packets held up" if count else ""


@contextmanager
def running_hosts(*names: str) -> Iterator[Hosts]:
    """Make hosts, and put this process beside their switch; at the end they are gone.

    Raises:
        TrialError: a program is missing, or this user may not.
    """
    if missing := [program for program in _PROGRAMS if shutil.which(program) is None]:
        raise TrialError(f"there is no {', '.join(missing)}: install iproute2 and iptables.")
    if os.geteuid():
        raise TrialError("hosts are network namespaces, which only root can make.")
    hosts = Hosts(names)
    try:
        hosts._up()  # noqa: SLF001 - of this module
        hosts._enter()  # noqa: SLF001
        yield hosts
    finally:
        hosts._down()  # noqa: SLF001


def _in(space: str, words: str) -> None:
    _run(["ip", "-n", space, *words.split()])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TrialError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
