"""`sluice check`: what is wrong with the specs, and what holds for a pipeline."""
