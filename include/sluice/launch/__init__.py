"""Starts processes and proves their death: drivers and their keeper, batches, locks, and the master with the cores."""
