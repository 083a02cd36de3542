"""Kafka's Java client, which Spark uses: the same settings that Python's client gets, in the words that Java knows."""

from __future__ import annotations

from collections.abc import Mapping

_STORES = {
    "ssl.ca.location": "ssl.truststore",  # librdkafka's name, of which Java has never heard
    "ssl.truststore.location": "ssl.truststore",
    "ssl.keystore.location": "ssl.keystore",
}


def java_settings(client: Mapping[str, str]) -> dict[str, str]:
    """Return client settings as Java wants them.

    Args:
        client: settings of a deployment, perhaps with a login; `sluice.specs.rules.client_settings` knows their names.
            Files are in PEM, which Java takes for a store of its own format unless it is told.
    """
    settings = {key: value for key, value in client.items() if key not in _STORES}
    for key, store in _STORES.items():
        if key in client:
            settings |= {f"{store}.type": "PEM", f"{store}.location": client[key]}
    return settings
