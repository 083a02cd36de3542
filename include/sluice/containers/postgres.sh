#!/usr/bin/env bash
# PostgreSQL with one role and one database of the same name for each secret `postgres_<name>`.
# The superuser has no password: it exists on the socket inside this container only.
# Passwords are set at every start, so a changed secret needs a restart and nothing else.
set -euo pipefail
data=/var/lib/postgresql/data

if [ ! -d "$data" ]; then
  # Elsewhere first: a killed initdb leaves a folder that looks finished.
  rm -rf "$data.new"
  initdb --pgdata="$data.new" --username=postgres --encoding=UTF8 --locale=C.UTF-8 --data-checksums \
    --auth-local=peer --auth-host=scram-sha-256
  echo "host all all samenet scram-sha-256" >>"$data.new/pg_hba.conf"
  mv "$data.new" "$data"
fi

export PGHOST=/tmp
pg_ctl --pgdata="$data" --silent --wait --log=/tmp/roles.log -o "-k /tmp -c listen_addresses=" start
for secret in /run/secrets/postgres_*; do
  name=${secret##*/postgres_}
  SECRET=$secret psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=name="$name" <<'SQL'
\set password `cat "$SECRET"`
SELECT format('CREATE ROLE %I LOGIN', :'name') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
SELECT format('ALTER ROLE %I PASSWORD %L', :'name', :'password') \gexec
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', :'name') \gexec
SQL
done
pg_ctl --pgdata="$data" --silent --wait --mode=fast stop
exec postgres -D "$data" -k /tmp -c listen_addresses='*' -c log_connections=off -c max_connections=200
