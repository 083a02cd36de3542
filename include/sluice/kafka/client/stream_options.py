"""How streams read and write topics: options of Spark's source and sink for Kafka."""

from __future__ import annotations

KAFKA_READ = {
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    # Records of a transaction that was aborted are none, and offsets end before one that is open.
    "kafka.isolation.level": "read_committed",
}
"""Options of everything that reads a topic, whatever a deployment says."""
KAFKA_SOURCE = {
    # Spark asks for a partition's ends after each fetch, and the broker answers only when the fetch that Kafka's client
    # has sent ahead is over: at five records a second that was most of a batch.
    "kafka.fetch.max.wait.ms": "1",
}
"""Options of micro-batches and batches over a topic, unless a deployment has others."""
KAFKA_REALTIME_SOURCE = {"kafka.fetch.max.wait.ms": "100"}
"""Options of streams that always wait for the next record."""
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
"""Options of what goes to a topic by Spark's own sink, without a function for each batch."""
KAFKA_SMALL_BATCHES = {
    # Both logs of a batch are written beside the next one, in order. A crash repeats the batches that they lack.
    "asyncProgressTrackingEnabled": "true",
    # Each batch is in them: Spark's default of a second leaves gaps, with which no other lane can go on.
    "asyncProgressTrackingCheckpointIntervalMs": "0",
}
"""Options of that sink where micro-batches follow one another."""
