"""A network of a process's own, in which nothing but what it starts is heard, and a record of all that passes in it.

Linux gives each process a network namespace; one of its own has a loopback interface and no other. What listens on
127.0.0.1 there is this process or was started by it, and a packet socket hears every connection between any two parts,
whatever ports they choose: a proxy would hear only those that are led through it.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Thread

from benchmarks.trials import TrialError

_CLONE_NEWNET = 0x40000000
_ALL_PROTOCOLS = 3
_SO_RCVBUFFORCE = 33
_BUFFER_BYTES = 512 * 1024 * 1024
_SOL_PACKET, _STATISTICS = 263, 6
_OUTGOING = 4
_IPV4, _IPV6, _TCP = 0x0800, 0x86DD, 6
_POLL_SECONDS = 0.5

_TOKEN = re.compile(rb"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}")
"""A signed token (JWT): two objects in JSON and a signature, each in base64."""


def enter_own_network() -> None:
    """Leave the machine's network, with all that this process starts from now on.

    Raises:
        TrialError: this user may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise TrialError(f"no network namespace ({os.strerror(ctypes.get_errno())}): run it as root.")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@dataclass
class Heard:
    """What has passed on the loopback interface.

    Attributes:
        missed: packets that came too fast to be kept.
        flows: the bytes of each direction of each connection, by the ports of sender and receiver.
    """

    missed: int = 0
    flows: dict[tuple[int, int], bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    _lock: Lock = field(default_factory=Lock)

    def keep(self, sender: int, receiver: int, data: bytes) -> None:
        """Add what one end has sent to the other."""
        with self._lock:
            self.flows[sender, receiver] += data

    def bytes_of(self, secrets: dict[str, bytes], *, without: frozenset[int] = frozenset()) -> dict[str, int]:
        """Return how many bytes are occurrences of each secret, by its name, and of tokens.

        Args:
            secrets: what nobody should read, by a name.
            without: connections to or from these ports do not count.
        """
        with self._lock:
            passed = [bytes(data) for ports, data in self.flows.items() if not without.intersection(ports)]
        found = {name: sum(data.count(secret) * len(secret) for data in passed) for name, secret in secrets.items()}
        return {**found, "tokens": sum(len(token) for data in passed for token in _TOKEN.findall(data))}

    @property
    def total(self) -> int:
        """How many bytes have passed."""
        with self._lock:
            return sum(map(len, self.flows.values()))


@contextmanager
def heard() -> Iterator[Heard]:
    """Keep all that passes on the loopback interface of this process's network, until the block ends.

    Raises:
        TrialError: this user may not.
    """
    try:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    except PermissionError as error:
        raise TrialError("no packet socket: run it as root.") from error
    with tap:
        tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        tap.bind(("lo", _ALL_PROTOCOLS))
        tap.settimeout(_POLL_SECONDS)
        found, ended = Heard(), []
        thread = Thread(target=_listen, args=(tap, found, ended), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            ended.append(True)
            thread.join()
            _, found.missed = struct.unpack("II", tap.getsockopt(_SOL_PACKET, _STATISTICS, 8))


def _listen(tap: socket.socket, found: Heard, ended: list[bool]) -> None:
    buffer = bytearray(1 << 17)
    while True:
        try:
            size, address = tap.recvfrom_into(buffer)
        except TimeoutError:
            if ended:
                return
            continue
        if address[2] != _OUTGOING and (segment := _segment(address[1], memoryview(buffer)[14:size])) is not None:
            found.keep(*segment)


def _segment(protocol: int, packet: memoryview) -> tuple[int, int, bytes] | None:
    """Return the ports and the data of a segment of TCP; None if it is something else, or has none."""
    if protocol == _IPV4 and packet[9] == _TCP:
        packet = packet[(packet[0] & 15) * 4 :]
    elif protocol == _IPV6 and packet[6] == _TCP:
        packet = packet[40:]
    else:
        return None
    sender, receiver = struct.unpack_from("!HH", packet)
    data = packet[(packet[12] >> 4) * 4 :]
    return (sender, receiver, bytes(data)) if data else None
