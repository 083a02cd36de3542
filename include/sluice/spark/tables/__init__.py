"""Raw tables and output tables, read as batches."""
