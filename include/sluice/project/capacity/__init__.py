"""Capacity of a project's drivers: what was measured of them, and what they have cost."""
