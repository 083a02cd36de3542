"""Intervals of event time: alignment, closing, and which offsets a commit covers."""
