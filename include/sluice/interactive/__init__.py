"""What people use from notebooks and from tests of their own: tables, and trials of a pipeline over a few lines."""
