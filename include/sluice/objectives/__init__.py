"""Objectives of outputs: which minutes were good, how much error budget is left, and how fast it burns."""
