"""What a pipeline needs, and what it has cost, on the terminal."""
