"""The fault matrix: its rows, and what tests report about them."""
