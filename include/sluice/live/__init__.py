"""Newest values of an output, held in memory for clients, and the rules about them."""
