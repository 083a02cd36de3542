"""Deadlines of streams: when they are missed and met, on record, and what is said of it."""
