"""Benchmarks: `make bench NAME=<name>`. The last line is one JSON object with figures and the environment."""
