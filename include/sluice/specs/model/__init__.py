"""What can be declared of topics, pipelines, principals and alerting."""
