"""How a deployment is seen: where its log goes, and what Prometheus and Grafana are given."""
