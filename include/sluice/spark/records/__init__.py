"""From Kafka records to rows: reading, decoding, validation, and the transform of a pipeline."""
