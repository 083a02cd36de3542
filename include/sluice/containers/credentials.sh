#!/usr/bin/env bash
# Runs a command that needs credentials: puts them where libpq and Airflow look, readable by this user alone.
# They cannot be used where they are mounted: libpq ignores a password file that others may read, and Airflow opens its
# file of passwords for writing. No secret enters the environment or a command line.
# usage: credentials.sh COMMAND...
set -euo pipefail
umask 077
mkdir -p "$AIRFLOW_HOME"

for secret in /run/secrets/postgres_*; do
  printf 'postgres:5432:*:%s:%s\n' "${secret##*/postgres_}" "$(cat "$secret")"
done >"$PGPASSFILE"
# The user who may only read, for Prometheus, beside those who are in the file already.
python -c 'import json, pathlib
secrets = pathlib.Path("/run/secrets")
print(json.dumps({"metrics": (secrets / "airflow_metrics").read_text()} | json.loads((secrets / "airflow_passwords").read_text())))' \
  >"$AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"

umask 022
# Who starts drivers needs what Spark's processes know each other by, too.
if [ -f /run/secrets/spark ]; then exec "$(dirname "$0")/spark.sh" "$@"; fi
exec "$@"
