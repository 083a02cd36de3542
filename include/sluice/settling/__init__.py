"""Settling: an interval's rows are computed from the raw table once every record that is on time must be there."""
