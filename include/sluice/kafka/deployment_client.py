"""The settings by which a process reaches the cluster of a deployment: what its spec says, with the secrets of here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sluice.clock import SystemClock
from sluice.errors import NotReadyError
from sluice.kafka.client.credentials import BY_TOKEN, TOKEN_AUTHORITIES, as_user, by_token, encrypted
from sluice.kafka.client.pem_files import PemFault, pem_faults
from sluice.settings import is_set, password, password_source
from sluice.specs.deployments.kafka import ExternalKafka, Login


def connection_settings(kafka: ExternalKafka) -> Mapping[str, str]:
    """Return the settings without a login, under Kafka's names.

    Raises:
        NotConfiguredError: the password of the private key is not set.
        NotReadyError: a file cannot be used; names each, what was found, and what to do.
    """
    variable = _password_variable(kafka)
    settings = _settings(kafka, None if variable is None else password(variable))
    if faults := pem_faults(_with_issuer(kafka, settings), SystemClock().now()):
        found = "; ".join(str(fault) for fault in faults)
        fix = " ".join(dict.fromkeys(fault.fix for fault in faults))
        raise NotReadyError(f"Kafka cannot be reached by the files that the deployment names: {found}.", fix=fix)
    return settings


def named_files(kafka: ExternalKafka) -> Mapping[str, str]:
    """Return the settings that name files; without the client's own where the password of its key is not set."""
    variable = _password_variable(kafka)
    if kafka.tls is None or variable is None or is_set(variable):
        return _with_issuer(kafka, _settings(kafka, None if variable is None else password(variable)))
    without = kafka.tls.model_copy(update={"certificate": None, "key": None})
    return _with_issuer(kafka, _settings(kafka.model_copy(update={"tls": without}), None))


def unusable_files(kafka: ExternalKafka, now: datetime) -> tuple[PemFault, ...]:
    """Return what is wrong with the files of a deployment on this machine; see `named_files`."""
    return pem_faults(named_files(kafka), now)


def logged_in(settings: Mapping[str, str], login: Login) -> Mapping[str, str]:
    """Return settings that connect as the user of a login.

    Raises:
        NotConfiguredError: its password is not set.
    """
    secret, source = password(login.password_variable), password_source(login.password_variable)
    if login.mechanism == BY_TOKEN and (token := login.token):
        endpoint, scope = token.endpoint, token.scope
        return by_token(settings, login.user, secret, endpoint=endpoint, scope=scope, ca=token.ca, source=source)
    return as_user(settings, login.user, secret, login.mechanism, source=source)


def _password_variable(kafka: ExternalKafka) -> str | None:
    return None if kafka.tls is None else kafka.tls.key_password_variable


def _with_issuer(kafka: ExternalKafka, settings: Mapping[str, str]) -> Mapping[str, str]:
    token = None if kafka.login is None else kafka.login.token
    return settings if token is None or token.ca is None else {**settings, TOKEN_AUTHORITIES: token.ca}


def _settings(kafka: ExternalKafka, key_password: str | None) -> Mapping[str, str]:
    tls, client = kafka.tls, {**kafka.service.client, **kafka.client}
    if tls is None:
        return client
    return encrypted(
        client,
        ca=tls.ca,
        certificate=tls.certificate,
        key=tls.key,
        key_password=key_password,
        verify_hostname=tls.verify_hostname,
    )
