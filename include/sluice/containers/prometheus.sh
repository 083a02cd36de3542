#!/usr/bin/env bash
# Prometheus with the project's own configuration and rules, and beside it what keeps the token of its scrape fresh. It
# asks nobody who they are, so it answers inside its container only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) secrets=/run/secrets
python "$here/scrape_token.py" https://airflow-api:8080 metrics $secrets/airflow_metrics /tmp/sluice.token $secrets/tls_ca &
exec prometheus --config.file="$here/../observability/prometheus.yaml" --storage.tsdb.path=/var/lib/prometheus \
  --storage.tsdb.retention.time=15d --web.listen-address=127.0.0.1:9090
