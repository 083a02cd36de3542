"""Transforms: one module per pipeline, one function DataFrame -> DataFrame, the same for stream and batch."""
