"""Kafka's Java client, which Spark uses: the same settings that Python's client gets, in the words that Java knows."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.kafka.client.credentials import BY_TOKEN, LOGIN_SOURCE, TOKEN_AUTHORITIES, TOKEN_ENDPOINT, quoted
from sluice.secrecy.secret_values import SecretSource

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_OAUTH_CLASSES = {
    "sasl.login.callback.handler.class": "OAuthBearerLoginCallbackHandler",
    # Those that are taken by default also know how brokers verify tokens, by a library that clients do not have.
    "sasl.oauthbearer.jwt.retriever.class": "ClientCredentialsJwtRetriever",
    "sasl.oauthbearer.jwt.validator.class": "ClientJwtValidator",
}
_ALLOWED_ENDPOINTS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
_RENAMED = {"ssl.truststore.location": "ssl.ca.location", "ssl.keystore.location": "ssl.certificate.location"}
_FILES = ("ssl.ca.location", "ssl.certificate.location")


def java_settings(client: Mapping[str, str]) -> dict[str, str]:
    """Return client settings as Java wants them.

    Args:
        client: settings of a deployment, perhaps with a login; `CLIENT_SETTINGS` has their names.
            Files are in PEM. Java itself would read them once; ours reads them again when they were replaced, and the
            password or the client's secret with each login.
    """
    settings = {_RENAMED.get(key, key): value for key, value in client.items() if key != TOKEN_AUTHORITIES}
    if any(file in settings for file in _FILES):
        settings["ssl.engine.factory.class"] = "sluice.kafka.ReplacedFiles"
    if client.get("sasl.mechanism") == BY_TOKEN and TOKEN_ENDPOINT in client:
        settings |= {name: f"{_OAUTH}.{java_class}" for name, java_class in _OAUTH_CLASSES.items()}
        settings["sasl.jaas.config"] = f"{_OAUTH}.OAuthBearerLoginModule required{_trusted(client)};"
    if LOGIN_SOURCE in client:
        settings |= {LOGIN_SOURCE: SecretSource.of(client[LOGIN_SOURCE]).for_shell()} | _rereading(client)
    return settings


def java_options(endpoint: str) -> str:
    """Return the options of a JVM whose clients may ask this address for tokens: without them it refuses each."""
    return f"-D{_ALLOWED_ENDPOINTS}={endpoint}"


def _rereading(client: Mapping[str, str]) -> dict[str, str]:
    """Return the setting that names the class of ours which reads a secret again."""
    if client.get("sasl.mechanism") == BY_TOKEN:
        return {"sasl.oauthbearer.jwt.retriever.class": "sluice.kafka.CurrentClientSecret"}
    return {"sasl.client.callback.handler.class": "sluice.kafka.CurrentPassword"}


def _trusted(client: Mapping[str, str]) -> str:
    """Return the options of Java's login module that say who may issue tokens."""
    if TOKEN_AUTHORITIES not in client:
        return ""
    return f' ssl.truststore.type="PEM" ssl.truststore.location="{quoted(client[TOKEN_AUTHORITIES])}"'
