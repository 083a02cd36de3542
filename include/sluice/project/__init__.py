"""What one deployment consists of, opened when it is needed: specs, records, streams, tables and lineage."""
