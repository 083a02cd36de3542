"""Writes the pages of the reference that are made from the code: `make references`."""
