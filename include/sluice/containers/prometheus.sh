#!/usr/bin/env bash
# Prometheus with the project's own configuration and rules, and beside it what keeps the token of its scrape fresh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python "$here/scrape_token.py" http://airflow-api:8080 metrics /run/secrets/airflow_metrics /tmp/sluice.token &
exec prometheus --config.file="$here/../observability/prometheus.yaml" --storage.tsdb.path=/var/lib/prometheus \
  --storage.tsdb.retention.time=15d --web.listen-address=:9090
