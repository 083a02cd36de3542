"""PostgreSQL as a place where results are served from."""
