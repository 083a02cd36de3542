"""An issuer of tokens on this machine: OAuth's client credentials, signed by RSA, and the keys to verify them."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

ISSUER, AUDIENCE = "https://issuer.test", "kafka"
_KEY_ID = "one"
_HOST = "127.0.0.1"


@dataclass
class TokenIssuer:
    """What it knows and was asked.

    Attributes:
        endpoint: its address.
        clients: the secret of each client.
        seconds: how long a token is in force.
        asked: the forms that were sent to it.
        given: the tokens that it gave.
    """

    endpoint: str = ""
    clients: dict[str, str] = field(default_factory=dict)
    seconds: float = 600
    asked: list[dict[str, str]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    _key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    def write_keys(self, file: Path) -> Path:
        """Write the keys by which brokers verify tokens (JWKS)."""
        public = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        file.write_text(json.dumps({"keys": [{**public, "kid": _KEY_ID, "use": "sig", "alg": "RS256"}]}))
        return file

    def token(self, user: str) -> str:
        """Return a token for a client."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": user, "iat": now, "exp": now + int(self.seconds)}
        token = jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": _KEY_ID})
        self.given.append(token)
        return token

    def is_known(self, authorisation: str) -> str:
        """Return the client that a header's credentials belong to; empty if they are wrong."""
        kind, _, encoded = authorisation.partition(" ")
        if kind != "Basic":
            return ""
        user, _, secret = base64.b64decode(encoded).decode().partition(":")
        return user if self.clients.get(user) == secret else ""


@contextmanager
def issuing(issuer: TokenIssuer, certificate: Path | None = None) -> Iterator[TokenIssuer]:
    """Answer until the block ends; by https if there is a file with a key and its certificate."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            issuer.asked.append({name: values[0] for name, values in parse_qs(form).items()})
            user = issuer.is_known(self.headers.get("Authorization", ""))
            token = {"access_token": issuer.token(user), "expires_in": issuer.seconds} if user else {}
            body = json.dumps(token).encode()
            self.send_response(200 if user else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Say nothing."""

    with ThreadingHTTPServer((_HOST, 0), Handler) as server:
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        issuer.endpoint = f"{scheme}://{_HOST}:{server.server_address[1]}/token"
        Thread(target=server.serve_forever, daemon=True).start()
        yield issuer
        server.shutdown()
