"""What writes a batch exactly once: the raw table, interval tables, outputs and dead letters."""
