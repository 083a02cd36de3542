"""How a stream is: what was observed, over which window, and the verdict on it."""
