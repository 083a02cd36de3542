"""Proofs: what producers have sent, what readers of a pipeline's outputs saw, and whether that fits."""
