"""Commands of the stack: demo, up, status, logs, and the servers of pages."""
