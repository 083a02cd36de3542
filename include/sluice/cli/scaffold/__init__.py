"""Templates for first versions of specs, transforms and tests."""
