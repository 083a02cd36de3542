"""Which ports of an installation say something to somebody who has no login, or do not encrypt."""

from __future__ import annotations

import json
from pathlib import Path

from tests.compose import prober
from tests.compose.containers import Containers

_ASKING = "node-exporter"
"""From where ports are asked: the container that has to do with none of them."""
_LISTENING = """
import socket, struct, sys
from pathlib import Path
def address(text):
    host, port = text.split(":")
    words = [struct.pack("=I", int(host[at:at + 8], 16)) for at in range(0, len(host), 8)]
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words)), int(port, 16)
for name in ("tcp", "tcp6"):
    for line in Path("/proc/net/" + name).read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A":
            host, port = address(fields[1])
            if not (host.startswith("127.") or host == "::1" or host.startswith("::ffff:127.")):
                print(port)
"""


def listening(containers: Containers) -> list[str]:
    """Return where services listen for others, as `service:port`; what listens on loopback is not there."""
    found = set()
    for service in containers.services():
        found |= {f"{service}:{port}" for port in containers.python(service, _LISTENING).split()}
    return sorted(found)


def open_routes(containers: Containers) -> list[str]:
    """Return what is open, one sentence for each port and way: between containers, and from this machine."""
    code = Path(prober.__file__).read_text(encoding="utf-8")
    inside = json.loads(containers.python(_ASKING, code, *listening(containers), deadline=600))
    outside = {f"localhost:{port}": prober.found_open("localhost", int(port)) for port in containers.ports.values()}
    return [f"{where} {said}" for where, every in {**inside, **outside}.items() for said in every]
