"""Alerts of failed runs and lasting conditions: what they say, and how they are delivered."""
