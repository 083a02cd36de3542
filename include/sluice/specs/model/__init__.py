"""What can be declared of topics, pipelines, feeds, principals and alerting."""
