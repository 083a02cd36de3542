"""Newest values of an output, held in memory for whoever asks, and the rules about them."""
