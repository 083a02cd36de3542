"""Functions over the records of one key in order, with a state that they change: the same in batches and in streams."""

from sluice.spark.keyed.in_order import in_order

__all__ = ["in_order"]
