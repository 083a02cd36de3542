"""Capacity: what a pipeline needs for a rate and a latency, by what was measured of it, and what it has cost."""
