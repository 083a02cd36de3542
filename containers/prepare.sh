#!/usr/bin/env bash
# Draws the secrets of docker-compose.yaml into containers/secrets/. What is there already is kept.
# usage: containers/prepare.sh [FOLDER]
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets}
umask 077
mkdir -p "$folder"

random() { # bytes -> URL-safe base64
  head -c "$1" /dev/urandom | base64 | tr -d '\n' | tr '+/' '-_'
}
keep() { # name, content
  [ -s "$folder/$1" ] && return
  printf '%s' "$2" >"$folder/.$1"
  # The folder is closed to others; the files are not, because a container reads them as another user.
  chmod 444 "$folder/.$1"
  mv "$folder/.$1" "$folder/$1"
}

keep airflow_fernet_key "$(random 32)"
keep airflow_jwt_secret "$(random 64)"
keep airflow_api_secret_key "$(random 32)"
keep airflow_passwords "{\"admin\": \"$(random 18)\"}"
keep airflow_metrics "$(random 18)"
keep postgres_airflow "$(random 24)"
keep postgres_sluice "$(random 24)"
keep postgres_serving_writer "$(random 24)"
keep postgres_serving_reader "$(random 24)"
# No secret, but like them: drawn once, the same for all brokers, different in every installation.
keep kafka_cluster_id "$(random 16 | tr -d =)"
printf 'The secrets are in %s. Airflow'\''s user is admin; its password is in airflow_passwords.\n' "$folder"
