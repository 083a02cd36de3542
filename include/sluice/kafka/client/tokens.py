"""Tokens by which a client logs in: asked for by its credentials (OAuth 2), and again before they end."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from http.client import HTTPException
from threading import Lock
from urllib.parse import urlencode

from kafka.net.sasl.oauth import AbstractTokenProvider

from sluice.clock import Clock, SystemClock
from sluice.errors import UnreachableError
from sluice.kafka.client.current_password import CurrentPassword
from sluice.kafka.client.direct_request import open_directly

_SECONDS = 10.0
_USED_SHARE = 0.8
"""A token is replaced when so much of its life is over, as Kafka's Java client does."""
_MAX_BYTES = 1024 * 1024
_FIX = "correct `token`, `user` and the secret of the login in the deployment, or see why the issuer does not answer."


class TokenRefusedError(UnreachableError):
    """An issuer of tokens gives none."""


class IssuedTokens(AbstractTokenProvider):  # type: ignore[misc]  # untyped client
    """Tokens of one client; kafka-python asks for one with each connection."""

    def __init__(
        self,
        endpoint: str,
        user: str,
        secret: CurrentPassword,
        *,
        scope: str | None = None,
        ca: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        self._endpoint, self._scope, self._ca = endpoint, scope, ca
        self._user, self._secret = user, secret
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._token, self._renewed_at = "", 0.0

    def token(self) -> str:
        """Return a token that is in force.

        Raises:
            TokenRefusedError: the issuer does not answer, or gives none; without the secret.
        """
        with self._lock:
            asked_at = self._clock.monotonic()
            if asked_at >= self._renewed_at:
                self._token, seconds = self._issued()
                self._renewed_at = asked_at + _USED_SHARE * seconds
            return self._token

    def _issued(self) -> tuple[str, float]:
        form = {"grant_type": "client_credentials", **({} if self._scope is None else {"scope": self._scope})}
        request = urllib.request.Request(  # noqa: S310 - the deployment's rule: https, or this machine
            self._endpoint,
            urlencode(form).encode(),
            {"Authorization": self._authorisation(), "Accept": "application/json"},
        )
        context = ssl.create_default_context(cafile=self._ca) if self._endpoint.startswith("https:") else None
        try:
            with open_directly(request, seconds=_SECONDS, context=context) as answer:
                issued = json.loads(answer.read(_MAX_BYTES))
            return str(issued["access_token"]), float(issued.get("expires_in", 0))
        except urllib.error.HTTPError as error:
            raise self._refused(f"answers {error.code} {error.reason}") from error
        except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = getattr(error, "reason", None) or error
            raise self._refused(f"gives no token ({type(error).__name__}: {reason})") from error

    def _authorisation(self) -> str:
        """Return it as Kafka's Java client does: what RFC 6749 escapes here, most issuers do not expect escaped."""
        return f"Basic {base64.b64encode(f'{self._user}:{self._secret.now()}'.encode()).decode()}"

    def _refused(self, why: str) -> TokenRefusedError:
        return TokenRefusedError(f"{self._endpoint} {why}.", fix=_FIX)
