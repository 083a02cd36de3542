"""Proofs of real pipelines: a copy of the project, producers, a driver, faults, and what its readers see."""
