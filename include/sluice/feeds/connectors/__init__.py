"""Connections to live sources, one module for each protocol."""
