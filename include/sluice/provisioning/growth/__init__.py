"""Growth of keyed topics: which keys move, what must be drained before, and where order breaks."""
