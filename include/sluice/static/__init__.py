"""Static inputs: small tables read from files, Delta tables and databases, and the snapshots of those that change."""
