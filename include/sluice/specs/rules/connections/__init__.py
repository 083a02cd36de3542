"""Rules about how a deployment connects to Kafka: the settings of its clients, and who they connect as."""
