"""How streams read and write topics, whatever a deployment says: options of Spark's source and sink for Kafka."""

from __future__ import annotations

KAFKA_READ = {
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    # Records of a transaction that was aborted are none, and offsets end before one that is open.
    "kafka.isolation.level": "read_committed",
}
"""Options of everything that reads a topic."""
KAFKA_SOURCE = {
    **KAFKA_READ,
    # Offset look-ups queue behind an idle fetch: without this the last batch before a pause waits up to a second.
    "kafka.fetch.max.wait.ms": "100",
}
"""Options of streams over a topic."""
KAFKA_SINK = {"kafka.acks": "all", "kafka.enable.idempotence": "true"}
"""Options of what is written to a topic batch by batch."""
KAFKA_DIRECT_SINK = {
    **KAFKA_SINK,
    # Of one partition a later record must never come without those before it: by that a reader knows a repetition.
    # So none is given up after a time: what cannot be sent holds up the rest, and the stream fails where it waits.
    "kafka.delivery.timeout.ms": str(2**31 - 1),
    # Since Kafka 4 a producer waits 5 ms for more records of a batch, which would be most of the way.
    "kafka.linger.ms": "0",
}
