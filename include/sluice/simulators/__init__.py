"""Simulated sources: events drawn from distributions or made by a function, with disorder and faults."""
