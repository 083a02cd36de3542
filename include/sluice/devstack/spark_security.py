"""By what the parts of an embedded cluster know each other, in a stack that asks who connects.

Master, workers, drivers and executors share one secret, which is drawn once for a state folder. It is in files of this
user's own, which Spark reads at its start, and in no argument. A worker hands it to its executors in their environment,
as Spark does. The pages of master and workers ask for a certificate.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from sluice.containers.java_stores import write_stores
from sluice.devstack.kafka.admin import authority_file, brokers_file
from sluice.devstack.kafka.properties import property_value
from sluice.devstack.spark_authentication import AUTHENTICATE, ENCRYPT, SAFE_PATH
from sluice.errors import NotReadyError
from sluice.launch.master_address import page_tls
from sluice.launch.private import write_private
from sluice.specs.deployments.deployment import PageTls

_FOR_DRIVERS, _FOR_CLUSTER = "spark-defaults.conf", "cluster.conf"
_STORES = "stores"
_PAGES = "spark.ssl.standalone"


@dataclass(frozen=True)
class ClusterSecurity:
    """What an embedded cluster has besides, in a stack that asks who connects.

    Attributes:
        folder: with the settings of the cluster's parts and of drivers.
        kafka: the first broker's folder, whose certificate the pages show, too.
        jar: ours, for the master and workers.
    """

    folder: Path
    kafka: Path
    jar: Path

    @property
    def settings(self) -> Path:
        """The file with the settings of master and workers."""
        return self.folder / _FOR_CLUSTER

    @property
    def tls(self) -> PageTls:
        """The files by which the master's page is known and asked."""
        return page_tls(self.folder)

    def prepare(self) -> None:
        """Write the files; the secret stays as it is, because drivers of an earlier master may live.

        Raises:
            NotReadyError: the brokers' certificate is not there.
            OSError: the folder cannot be written.
        """
        authority, own = authority_file(self.kafka), brokers_file(self.kafka)
        if missing := [file for file in (authority, own) if not file.exists()]:
            raise NotReadyError(
                f"The Spark cluster shows the brokers' certificate, and {missing[0]} is not there.",
                fix="run `sluice down`, then `sluice up`: it makes one.",
            )
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_stores(own, authority, self.folder / _STORES)
        tls = self.tls
        for copy, original in ((tls.ca, authority), (tls.certificate, own)):
            write_private(Path(str(copy)), original.read_text(encoding="utf-8"))
        known = {**AUTHENTICATE, **ENCRYPT, "spark.authenticate.secret": self._secret()}
        write_private(self.folder / _FOR_DRIVERS, _properties(known))
        write_private(self.settings, _properties({**known, **self._pages()}))
        if SAFE_PATH.fullmatch(str(self.folder)):
            script = resources.files("sluice.spark.session") / "conf" / "spark-env.sh"  # drivers read one folder
            (self.folder / "spark-env.sh").write_bytes(script.read_bytes())

    def _secret(self) -> str:
        kept = self.folder / "secret"
        if not kept.exists():
            write_private(kept, secrets.token_urlsafe(32))
        return kept.read_text(encoding="utf-8")

    def _pages(self) -> Mapping[str, str]:
        """Return the settings by which the pages of master and workers encrypt, and ask for a certificate."""
        stores = self.folder / _STORES
        password = (stores / "password").read_text(encoding="utf-8")
        found = {"enabled": "true", "protocol": "TLSv1.3", "needClientAuth": "true", "keyPassword": password}
        for kind, file in (("keyStore", "key.p12"), ("trustStore", "trust.p12")):
            found |= {kind: str(stores / file), f"{kind}Type": "PKCS12", f"{kind}Password": password}
        return {f"{_PAGES}.{name}": value for name, value in found.items()}

    def page_option(self, port: int) -> Mapping[str, str]:
        """Return the setting that says where a page answers; 0: anywhere."""
        return {f"{_PAGES}.port": str(port)}


def _properties(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={property_value(value)}\n" for name, value in settings.items())
