"""The embedded brokers: their configuration, their administrator and who may connect."""
