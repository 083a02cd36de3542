"""Following one record through a project: the adapters behind `sluice.tracing`, put together."""
