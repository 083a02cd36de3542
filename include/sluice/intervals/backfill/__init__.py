"""Backfills as data: requests, claims, selections, parity and repairs."""
