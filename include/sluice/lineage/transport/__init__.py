"""Sends lineage with OpenLineage's client."""
