"""Great Expectations: the engine of the quality gate, and the names that it knows."""
