"""Pipelines over the flights with windows and transformations of every kind, and what each of them must produce."""
