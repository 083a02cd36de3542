#!/usr/bin/env bash
# Runs a command of Spark's with the settings by which master, workers, drivers and executors know each other: one
# secret for all, and nothing between them that is not encrypted. They are in a file, which this user alone can read.
# Where a certificate `tls_spark` is mounted, Spark's own pages show it, and ask for one.
# usage: spark.sh COMMAND...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) folder=${SPARK_CONF_DIR:?}
(
  umask 077
  mkdir -p "$folder"
  # What drivers have of their own beside it: Spark reads one folder.
  package=$(python -c 'import importlib.util; print(importlib.util.find_spec("sluice").submodule_search_locations[0])')
  cp "$package/spark/session/conf/spark-env.sh" "$folder"
  {
    printf '%s %s\n' spark.authenticate true spark.authenticate.secret "$(cat /run/secrets/spark)"
    printf '%s %s\n' spark.network.crypto.enabled true spark.network.crypto.saslFallback false \
      spark.network.crypto.cipher AES/GCM/NoPadding
    if [ -f /run/secrets/tls_spark ]; then
      python "$here/java_stores.py" /run/secrets/tls_spark /run/secrets/tls_ca "$folder/stores"
      password=$(cat "$folder/stores/password") ssl=spark.ssl.standalone
      printf '%s %s\n' $ssl.enabled true $ssl.protocol TLSv1.3 $ssl.needClientAuth true \
        $ssl.keyStore "$folder/stores/key.p12" $ssl.keyStoreType PKCS12 $ssl.keyStorePassword "$password" \
        $ssl.keyPassword "$password" \
        $ssl.trustStore "$folder/stores/trust.p12" $ssl.trustStoreType PKCS12 $ssl.trustStorePassword "$password"
    fi
  } >"$folder/spark-defaults.conf"
)
exec "$@"
