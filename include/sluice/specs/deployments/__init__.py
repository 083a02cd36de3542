"""What can be declared of a deployment: its Kafka, its Spark and its secrets."""
