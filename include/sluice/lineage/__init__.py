"""Lineage as OpenLineage's run events: what streams, backfills and checks read and write, and what sends them."""
