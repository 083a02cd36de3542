"""Requests that carry a login: urllib would send it on to whatever address an answer names, in the clear, too."""

from __future__ import annotations

import ssl
from http.client import HTTPResponse
from typing import cast
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener


class _Nowhere(HTTPRedirectHandler):
    """Follows no redirection: it is an error like any other status."""

    def redirect_request(self, *_: object) -> None:
        """Name no address."""


def open_directly(request: Request, *, seconds: float, context: ssl.SSLContext | None = None) -> HTTPResponse:
    """Send a request to its own address and to no other.

    Raises:
        HTTPError: the answer is an error, or a redirection.
        OSError: there is no answer.
        HTTPException: the address is none, or the answer is not of HTTP.
    """
    opener = build_opener(_Nowhere, HTTPSHandler(context=context))
    return cast("HTTPResponse", opener.open(request, timeout=seconds))
