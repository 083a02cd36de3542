"""Deadlines of streams: whether they are missed, and when that is certain."""
