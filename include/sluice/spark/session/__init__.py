"""Spark sessions: their settings, the Java that runs them, and what makes them start fast."""
