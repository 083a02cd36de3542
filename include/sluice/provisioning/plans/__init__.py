"""Plans: declared and actual topics and access, the changes between them, and what has to be approved. Pure."""
