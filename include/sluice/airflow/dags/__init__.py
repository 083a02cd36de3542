"""Builders of DAGs, one module for each kind."""
