"""Alerts about failed runs and lasting conditions: what they say, when they are sent, and the journal."""
