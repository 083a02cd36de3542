"""The batch side: closed intervals from the raw table, computed, compared, staged, gated and published."""
