"""The driver of a unit: its streams from start to stop, and its reports."""
