"""Alerts: what a person is told about a failed run, whether they were told, and the record of both."""
