"""Expectations of rows, sets and intervals, as declared."""
