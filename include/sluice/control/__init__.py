"""The control database: desired state, attempts and verdicts in SQL."""
