"""First versions of specs, transforms and their tests: texts that stand as they are, and are meant to be changed."""
