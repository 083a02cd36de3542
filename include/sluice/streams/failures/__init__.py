"""How drivers end: exit codes, classes of failure, and what each asks for."""
