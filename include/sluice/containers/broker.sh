#!/usr/bin/env bash
# One Kafka node, broker and controller in one. Formats its folder the first time; later starts find their records.
# usage: broker.sh NODE_ID RACK HOST
set -euo pipefail
node=${1:?node id} rack=${2:?rack} host=${3:?host}
here=$(cd "$(dirname "$0")" && pwd) config=/tmp/server.properties
java=(java -XX:+UseG1GC -XX:+ExitOnOutOfMemoryError "-Dlog4j2.configurationFile=$here/log4j2.properties"
  -cp "$SLUICE_HOME/.venv/share/sluice/jars/kafka/*")

umask 077
password=$(cat /run/secrets/kafka_admin)
plain="org.apache.kafka.common.security.plain.PlainLoginModule required username=\"admin\" password=\"$password\" user_admin=\"$password\";"
{
  cat "$here/broker.properties"
  printf '%s\n' "node.id=$node" "broker.rack=$rack" "advertised.listeners=BROKER://$host:9092"
  printf '%s\n' "listener.name.broker.plain.sasl.jaas.config=$plain" "listener.name.controller.plain.sasl.jaas.config=$plain"
} >"$config"

# Formatting writes this file last. The folder's own id is drawn at random; the cluster's is the same for all nodes.
if [ ! -f "$(sed -n 's/^log\.dirs=//p' "$config")/meta.properties" ]; then
  "${java[@]}" -Xmx128m kafka.tools.StorageTool format \
    "--cluster-id=$(cat /run/secrets/kafka_cluster_id)" "--config=$config"
fi
# Its metrics, encrypted and behind a password (profile `metrics`): the agent costs nothing until it is asked.
python "$here/java_stores.py" /run/secrets/tls_kafka /run/secrets/tls_ca /tmp/stores
{
  cat "$here/jmx.yaml"
  printf '%s\n' "httpServer:" "  authentication: {basic: {username: prometheus, password: \"$(cat /run/secrets/kafka_metrics)\"}}" \
    "  ssl:" "    keyStore: {filename: /tmp/stores/key.p12, password: \"$(cat /tmp/stores/password)\"}" "    certificate: {alias: own}"
} >/tmp/jmx.yaml
agent=("$SLUICE_HOME"/.venv/share/sluice/jars/agent/*.jar)
exec "${java[@]}" "-javaagent:${agent[0]}=9404:/tmp/jmx.yaml" -Xms128m "-Xmx${KAFKA_HEAP:-384m}" kafka.Kafka "$config"
