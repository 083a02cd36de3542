#!/usr/bin/env bash
# Draws the secrets of docker-compose.yaml into containers/secrets/: passwords, and by `openssl` an authority of this
# installation's own with the certificates that it signs. What is there already is kept; a certificate that expires
# within half a year is made again.
# usage: containers/prepare.sh [FOLDER]
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets}
authority_days=3650 certificate_days=730 spare_days=180
command -v openssl >/dev/null || { echo "Certificates need openssl, which is not installed here: install it, then repeat this." >&2; exit 3; }
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
keep kafka_admin "$(random 24)"
keep kafka_metrics "$(random 24)"
keep spark "$(random 32)"
# No secret, but like them: drawn once, the same for all brokers, different in every installation.
keep kafka_cluster_id "$(random 16 | tr -d =)"

lasts() { # certificate: it is there, and will be for a while
  [ -s "$1" ] && openssl x509 -in "$1" -noout -checkend $((spare_days * 86400)) >/dev/null 2>&1
}
key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256; }
settings() { # common name, lines of extensions...
  printf '%s\n' '[req]' 'distinguished_name = name' 'x509_extensions = own' 'prompt = no' '[name]' "CN = $1" '[own]' "${@:2}"
}
replace() { # name: what was written into its draft
  chmod 444 "$folder/.$1"
  mv -f "$folder/.$1" "$folder/$1"
}
certify() { # name, addresses as in a certificate...
  local file="$folder/tls_$1" draft="$folder/.tls_$1" addresses
  lasts "$file" && openssl verify -CAfile "$folder/tls_ca" "$file" >/dev/null 2>&1 && return
  addresses=$(IFS=,; printf '%s' "${*:2}")
  key >"$draft"
  openssl req -new -key "$draft" -config <(settings "$1") \
    | openssl x509 -req -sha256 -days $certificate_days -CA "$folder/tls_ca" -CAkey "$folder/tls_ca_key" \
      -set_serial "0x$(openssl rand -hex 16)" -extfile <(settings "$1" "subjectAltName = $addresses" \
      'basicConstraints = critical, CA:FALSE' 'keyUsage = critical, digitalSignature' \
      'extendedKeyUsage = serverAuth, clientAuth' 'authorityKeyIdentifier = keyid') -extensions own 2>/dev/null >>"$draft"
  replace "tls_$1"
}

# The authority's key is mounted nowhere.
if ! lasts "$folder/tls_ca" || ! [ -s "$folder/tls_ca_key" ]; then
  key >"$folder/.tls_ca_key"
  openssl req -x509 -new -sha256 -days $authority_days -key "$folder/.tls_ca_key" -config <(settings 'Sluice, this installation' \
    'basicConstraints = critical, CA:TRUE, pathlen:0' 'keyUsage = critical, keyCertSign' 'subjectKeyIdentifier = hash') >"$folder/.tls_ca"
  mv -f "$folder/.tls_ca_key" "$folder/tls_ca_key"
  replace tls_ca
fi
certify kafka DNS:kafka-1 DNS:kafka-2 DNS:kafka-3 DNS:localhost
certify postgres DNS:postgres DNS:localhost
certify spark DNS:spark-master DNS:localhost
certify runner DNS:runner
certify airflow DNS:airflow-api DNS:localhost IP:127.0.0.1
certify live DNS:live DNS:localhost IP:127.0.0.1
certify metrics DNS:node-exporter DNS:prometheus DNS:localhost
printf 'Browsers know Airflow by the authority in %s/tls_ca.\n' "$folder"
printf 'The secrets are in %s. Airflow'\''s user is admin; its password is in airflow_passwords.\n' "$folder"
