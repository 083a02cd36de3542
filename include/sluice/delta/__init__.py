"""Delta tables through delta-rs: the ledger in their logs, and reading without Spark."""
