"""Who may call Python from a driver's JVM: PySpark listens for what it runs for each batch, and asks nobody."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started


def authenticate_callbacks(gateway: Any) -> None:  # noqa: ANN401 - PySpark's own, which has no types
    """Have Python's side of a gateway ask for its secret, and Java's side show it.

    Both know how. But PySpark gives Python no secret, and Java forgets its own when it is told the port: a copy of its
    client is made, without it. Otherwise every process of this machine could call what a driver runs for each batch.
    """
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001 - as PySpark does
    secret = client.getClass().getSuperclass().getDeclaredField("authToken")
    secret.setAccessible(True)
    secret.set(client, gateway.java_parameters.auth_token)
    gateway.python_parameters.auth_token = gateway.java_parameters.auth_token
