"""The adapter around OpenLineage's client, which is imported once there is something to send."""
