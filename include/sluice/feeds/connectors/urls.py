"""Where a source is that one reaches by a URL, with what is secret about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit, urlunsplit

from sluice.errors import NotConfiguredError, SluiceError, SpecError
from sluice.feeds.following.ports import DisconnectedError
from sluice.settings import connection_url, password
from sluice.specs.deployments.secrecy import connection_variable
from sluice.specs.feeds.live import HttpSourceSpec, url_fault

_UNAUTHORIZED, _FORBIDDEN, _TIMEOUT, _TOO_EARLY, _TOO_MANY, _BROKEN = 401, 403, 408, 425, 429, 500


@dataclass(frozen=True)
class SourceRequest:
    """What is asked for, and by what.

    Attributes:
        url: it may hold secrets.
        headers: they may hold secrets.
        place: scheme, host and path of the URL: what may be shown.
        where: the key of the spec, or the variable, that says it.
        credentials: what holds them, in words; empty: there are none.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    place: str
    where: str
    credentials: str

    @classmethod
    def of(cls, kind: str, spec: HttpSourceSpec) -> SourceRequest:
        """Return that of a spec.

        Raises:
            NotConfiguredError: a variable that it names is not set here, or holds no such URL.
        """
        form = f"{spec.schemes[1]}://host/path"
        url = spec.url or connection_url(spec.connection or "", owner="a feed", form=form)
        where = f"`{kind}.url`" if spec.connection is None else connection_variable(spec.connection)
        if fault := url_fault(url, spec.schemes):
            raise NotConfiguredError(f"{where} holds no URL of a source: {fault}.", fix=f"set it to {form}.")
        secret = {name: _header_value(variable) for name, variable in spec.header_variables.items()}
        holders = [*spec.header_variables.values(), *([where] if spec.connection else [])]
        parts = urlsplit(url)
        place = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        return cls(url, {**spec.headers, **secret}, place, where, ", ".join(holders))

    def with_parameter(self, name: str, value: object) -> str:
        """Return the URL with one more parameter."""
        parts = urlsplit(self.url)
        query = "&".join(filter(None, (parts.query, urlencode({name: str(value)}))))
        return urlunsplit(parts._replace(query=query))

    def refusal(self, status: int, retry_after: str | None) -> SluiceError:
        """Return the error for a response that is no stream: one that is worth another attempt, or one that is not.

        Args:
            status: of the response.
            retry_after: its header `Retry-After`, if it has one.
        """
        said = f"{self.place} answered {status}"
        if status in {_TIMEOUT, _TOO_EARLY, _TOO_MANY} or status >= _BROKEN:
            return DisconnectedError(f"{said}.", retry_after=_seconds(retry_after))
        if status in {_UNAUTHORIZED, _FORBIDDEN}:
            who = f"what {self.credentials} holds" if self.credentials else "a request without credentials"
            fix = f"set {self.credentials} to what the source gave you." if self.credentials else _NAME_CREDENTIALS
            return NotConfiguredError(f"{said}: it refuses {who}.", fix=fix)
        return SpecError(f"{said}, and would do so again.", fix=f"correct {self.where}, or what the request asks for.")


def named(error: Exception) -> str:
    """Return what a library says of a connection, to be put into a sentence."""
    return str(error).rstrip(".") or type(error).__name__


def _header_value(variable: str) -> str:
    """Return what a variable holds; a library would quote what is no value of a header in its error."""
    value = password(variable)
    if not (value.isascii() and value.isprintable()):
        raise NotConfiguredError(
            f"{variable} holds characters that no header can have.", fix="set it to one line of printable ASCII."
        )
    return value


_NAME_CREDENTIALS = "name the variable that holds them, such as `header_variables: {Authorization: SLUICE_PASSWORD_…}`."


def _seconds(retry_after: str | None) -> float:
    """Return the seconds of a `Retry-After`; a date is left to the backoff."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else 0.0
