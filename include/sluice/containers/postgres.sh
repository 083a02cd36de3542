#!/usr/bin/env bash
# PostgreSQL with a role for each secret `postgres_<name>`, each with what it needs and no more:
#   serving_writer, serving_reader  the streams that write the database `serving`, and those who read it
#   any other                       owns one database of its own name: Airflow's, the control database
# The superuser has no password: it exists on the socket inside this container only.
# Roles and passwords are set at every start, so a changed secret needs a restart and nothing else; and so is who may
# connect: by TCP only what encrypts, and with a password.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=${PGDATA:-/var/lib/postgresql/data} secrets=${SECRETS:-/run/secrets}
export PGHOST=${PGHOST:-/tmp}

if [ ! -d "$data" ]; then
  # Elsewhere first: a killed initdb leaves a folder that looks finished.
  rm -rf "$data.new"
  initdb --pgdata="$data.new" --username=postgres --encoding=UTF8 --locale=C.UTF-8 --data-checksums \
    --auth-local=peer --auth-host=scram-sha-256
  mv "$data.new" "$data"
fi

(
  umask 077
  printf '%s\n' 'local all postgres peer' 'hostssl all all all scram-sha-256' >"$PGHOST/pg_hba.conf"
  # PostgreSQL uses no key that others may read, as a mounted secret is.
  cat "$secrets/tls_postgres" >"$PGHOST/tls.pem"
)

sql() { psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"; }

pg_ctl --pgdata="$data" --silent --wait --log="$PGHOST/roles.log" -o "-k $PGHOST -c listen_addresses=" start
for secret in "$secrets"/postgres_*; do
  SECRET=$secret sql --set=name="${secret##*/postgres_}" <<'SQL'
\set password `cat "$SECRET"`
SELECT format('CREATE ROLE %I LOGIN', :'name') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
SELECT format('ALTER ROLE %I PASSWORD %L', :'name', :'password') \gexec
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
 WHERE :'name' NOT LIKE 'serving\_%' AND NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', datname) FROM pg_database WHERE datname = :'name' \gexec
SQL
done
sql <<'SQL'
SELECT 'CREATE DATABASE serving' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'serving') \gexec
REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;
SQL
sql --dbname=serving --set=writer=serving_writer --set=reader=serving_reader --file="$here/serving_roles.sql"
pg_ctl --pgdata="$data" --silent --wait --mode=fast stop
exec postgres -D "$data" -k "$PGHOST" -c "listen_addresses=${LISTEN:-*}" -c "hba_file=$PGHOST/pg_hba.conf" \
  -c ssl=on -c "ssl_cert_file=$PGHOST/tls.pem" -c "ssl_key_file=$PGHOST/tls.pem" -c ssl_min_protocol_version=TLSv1.3 \
  -c log_connections=off -c max_connections=200
