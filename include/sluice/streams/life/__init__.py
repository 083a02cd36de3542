"""A unit between start and stop: desired state, attempts, claims, restarts and resets."""
