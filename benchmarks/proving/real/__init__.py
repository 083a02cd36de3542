"""Proofs of real pipelines that break a promise, on Kafka and Spark."""
