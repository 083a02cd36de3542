"""The specs of feeds: where their records come from, and what a simulator is told."""
