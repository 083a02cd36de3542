"""Settling by Spark: what arrived is examined by Arrow, and rows are computed by the code of a backfill."""
