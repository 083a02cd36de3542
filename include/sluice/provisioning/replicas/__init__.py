"""Replicas: moving them under a throttle, and removing a throttle that was left."""
