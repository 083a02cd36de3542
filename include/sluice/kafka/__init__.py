"""Everything that talks to a Kafka cluster, around kafka-python."""
