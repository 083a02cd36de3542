"""What the Prometheus of the profile `metrics` has collected."""

from __future__ import annotations

import json
from urllib.parse import quote

from tests.compose.containers import Containers, ContainersError, eventually

SERIES = {
    "the targets": "count(up == 1) == 5",
    "disks by their folders": 'count(node_filesystem_avail_bytes{mountpoint=~"/volumes/.*"}) >= 5',
    "what disks do": "count(node_disk_written_bytes_total) > 0",
    "network cards": 'count(node_network_receive_bytes_total{device!="lo"}) > 1',
    "the brokers' JVMs": "count(jvm_memory_used_bytes) > 0 and count(jvm_gc_collection_seconds_count) > 0",
    "the brokers": "count(kafka_server_brokertopicmetrics_messagesin_total) == 3",
    "drivers' JVMs": "count(sluice_unit_jvm_heap_used_bytes) > 0",
    "the streams": "count(sluice_stream_health) > 0",
}
"""What is to be seen → an expression that has a value if it is."""
_QUERY = """
import sys, urllib.request
print(urllib.request.urlopen("http://localhost:9090/api/v1/query?query=" + sys.argv[1], timeout=10).read().decode())
"""


def unseen(containers: Containers) -> list[str]:
    """Return what Prometheus does not see."""
    return [what for what, expression in SERIES.items() if not _values(containers, expression)]


def wait_until_seen(containers: Containers, deadline_seconds: float = 120) -> None:
    """Wait for all of it: a target is scraped twice a minute.

    Raises:
        ContainersError: something is missing.
    """

    def all_seen() -> bool:
        if missing := unseen(containers):
            raise ContainersError(f"Prometheus does not see {', '.join(missing)}")
        return True

    eventually("Prometheus sees everything", all_seen, deadline_seconds)


def _values(containers: Containers, expression: str) -> list[object]:
    answer = json.loads(containers.python("prometheus", _QUERY, quote(expression)))
    found: list[object] = answer["data"]["result"]
    return found
