"""Retention: what a lower one deletes, and the steps by which it is lowered."""
