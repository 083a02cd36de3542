"""Specs: what a person declares in YAML, read into frozen models with every fault reported at its line."""
