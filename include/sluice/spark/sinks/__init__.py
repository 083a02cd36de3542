"""What writes a batch exactly once: the raw table, outputs and dead letters."""
