"""Tasks that run batches on Spark."""
