"""Schema registries that speak Confluent's REST protocol."""
