"""Lineage in OpenLineage's terms: what streams, backfills and checks read and write. Knows no client, no transport."""
