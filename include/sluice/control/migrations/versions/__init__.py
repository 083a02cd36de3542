"""The schema's history, one module per revision."""
