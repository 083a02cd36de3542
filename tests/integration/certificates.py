"""A private authority of a test's own, and what it has signed: made by openssl, gone with its folder."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_DAYS = "2"


@dataclass(frozen=True)
class Certificates:
    """Files in PEM.

    Attributes:
        ca: the authority's certificate.
        broker: key and certificate of a broker at 127.0.0.1.
        client: key and certificate of a client.
    """

    ca: Path
    broker: Path
    client: Path


def make_certificates(folder: Path) -> Certificates:
    """Make them in a folder that exists."""
    ca, ca_key = _authority(folder, "ca")
    signed = {
        name: _signed(folder, name, ca, ca_key, f"subjectAltName=IP:127.0.0.1\nextendedKeyUsage={usage}Auth\n")
        for name, usage in (("broker", "server"), ("client", "client"))
    }
    return Certificates(ca, signed["broker"], signed["client"])


def _authority(folder: Path, name: str) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    extensions = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
    subject = ["-subj", f"/CN=Sluice test {name}", "-days", _DAYS, "-keyout", key]
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-noenc", *subject, *extensions, "-out", certificate)
    return certificate, key


def _signed(folder: Path, name: str, ca: Path, ca_key: Path, extensions: str) -> Path:
    """Return a file with a private key and its certificate, one after the other, as Kafka's clients want them."""
    key, request, certificate = (folder / f"{name}.{ending}" for ending in ("key", "csr", "crt"))
    described = folder / f"{name}.cnf"
    described.write_text(f"keyUsage=critical,digitalSignature,keyEncipherment\n{extensions}")
    _openssl("req", "-newkey", "rsa:2048", "-noenc", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    signing = ["-CA", ca, "-CAkey", ca_key, "-days", _DAYS, "-extfile", described]
    _openssl("x509", "-req", "-in", request, *signing, "-out", certificate)
    both = folder / f"{name}.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
