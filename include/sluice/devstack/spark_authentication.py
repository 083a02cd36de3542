"""The settings by which a JVM of Spark's asks who connects, and encrypts, before it answers anything.

Both sides of a connection prove that they have one secret, and draw keys for it. Within one JVM Spark draws the secret
itself; for those of an embedded cluster see `sluice.devstack.spark_security`.
"""

from __future__ import annotations

import re

AUTHENTICATE = {"spark.authenticate": "true"}
ENCRYPT = {
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",  # by the default one nobody notices what was changed on its way
    "spark.network.crypto.saslFallback": "false",
}
AUTHENTICATION_FIRST = "-Dio.netty.bootstrap.extensions=serviceload"
"""The option of a JVM with our jar on its class path by which nothing at all is answered before that: Spark itself asks
for the secret where a call arrives, and hands files, jars and blocks to everybody. See
`sluice.network.AuthenticationFirst`."""

SAFE_PATH = re.compile(r"[\w./@+-]+")
"""Spark's script reads `spark-env.sh` without quotes around its path."""
