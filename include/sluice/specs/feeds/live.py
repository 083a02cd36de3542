"""Live sources of feeds: where they are, how an event is recognised, and from where they are asked after an outage."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator
from pydantic.json_schema import WithJsonSchema

from sluice.specs.deployments.secrecy import is_secret
from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import ADDRESS_PATTERN, VARIABLE_PATTERN, Name, Spec
from sluice.values.paths import parse_path
from sluice.values.time_forms import EpochUnit

LONGEST_OVERLAP = timedelta(hours=1)
_SECRET_HEADERS = {"authorization", "cookie", "proxy-authorization"}
_SECRET_PARAMETERS = {"auth", "key", "sig", "signature"}


def _sound_path(text: str) -> str:
    parse_path(text)
    return text


def _listed(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


JsonPath = Annotated[str, AfterValidator(_sound_path)]
"""Where a value is in an event that is a JSON object, such as `$.user.id`."""
JsonPaths = Annotated[
    tuple[JsonPath, ...],
    BeforeValidator(_listed),
    Field(max_length=10),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 10}]}),
]
"""One path, or several that say it together."""
Header = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$")]
HeaderText = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{0,1000}$")]
Variable = Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)]


class Cursor(Spec):
    """A position in a live source, from which it can be asked to go on."""

    overlap: Duration = timedelta(seconds=10)
    """How far before the cursor events may come again: they are recognised by their `identity`."""
    retention: Duration | None = None
    """For how long the source keeps events: of a longer outage the manifest has a gap."""

    @field_validator("overlap")
    @classmethod
    def _overlap_is_short(cls, overlap: timedelta) -> timedelta:
        if overlap > LONGEST_OVERLAP:
            raise ValueError("the identities of so many events are held in memory: write at most `1 hour`")
        return overlap


class EventCursor(Cursor):
    """The cursor of a WebSocket: each event has it, and a parameter of the URL takes it."""

    path: JsonPath
    """Where an event has it."""
    parameter: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_.~-]{1,100}$")]
    """The parameter of the URL by which the source is asked to go on from it."""
    epoch: EpochUnit | None = None
    """Of a cursor that is a time: its unit since 1970. The source is then asked from `overlap` before it."""


class HeaderCursor(Cursor):
    """The cursor of Server-Sent Events: the `id` of the last one, which a header takes."""

    header: Literal["Last-Event-ID"]


class LiveSourceSpec(Spec):
    """What all live sources have."""

    key: JsonPath | None = None
    """Where an event has the record's key. Omitted: records have none."""
    rate: float | None = Field(default=None, gt=0)
    """Most records per second. Omitted: as many as Kafka acknowledges."""
    max_unacknowledged: int = Field(default=1000, ge=1, le=100_000)
    """Most records that Kafka has not acknowledged. At that many, nothing more is read from the source."""


class RemoteSourceSpec(LiveSourceSpec):
    """What sources on a network have."""

    idle_timeout: Duration = timedelta(minutes=1)
    """After so long without a sign of life, the connection is closed and opened again."""

    @field_validator("idle_timeout")
    @classmethod
    def _some_time(cls, idle_timeout: timedelta) -> timedelta:
        if idle_timeout < timedelta(seconds=1):
            raise ValueError("no source sends without any pause: write `1 s` or more")
        return idle_timeout


class HttpSourceSpec(RemoteSourceSpec):
    """What sources have that one reaches by a URL."""

    schemes: ClassVar[tuple[str, str]]
    """Of its URL: in the clear, and encrypted."""

    url: str | None = None
    """Where it is, without secrets."""
    connection: Name | None = Field(default=None, validate_default=True)
    """Instead of `url`, where that holds a secret: `SLUICE_CONNECTION_<NAME>` holds the URL."""
    headers: Mapping[Header, HeaderText] = Field(default_factory=dict)
    """Of the request, without secrets."""
    header_variables: Mapping[Header, Variable] = Field(default_factory=dict)
    """Headers that are secret: the variable of each holds all that stands behind the colon, such as `Bearer …`."""

    @field_validator("url")
    @classmethod
    def _url_is_sound(cls, url: str | None) -> str | None:
        if url is not None and (fault := url_fault(url, cls.schemes) or _secret_in_url(url)):
            raise ValueError(fault)
        return url

    @field_validator("connection")
    @classmethod
    def _one_place_is_said(cls, connection: str | None, info: ValidationInfo) -> str | None:
        if "url" in info.data and (info.data["url"] is None) == (connection is None):
            which = "neither is given; write one" if connection is None else "both are given; keep one"
            raise ValueError(f"`url` or `connection` says where the source is, and {which}")
        return connection

    @field_validator("headers")
    @classmethod
    def _headers_hold_no_secret(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        secret = [name for name in headers if name.lower() in _SECRET_HEADERS or is_secret(name.replace("-", "_"))]
        if secret:
            raise ValueError(
                f"{', '.join(secret)} holds a secret, and every user can read specs; name the variable that holds it: "
                f"`header_variables: {{{secret[0]}: SLUICE_PASSWORD_…}}`"
            )
        return headers


def _identified(identity: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    if info.data.get("cursor") is not None and not identity:
        raise ValueError(
            "the cursor makes events come again, and nothing says how to recognise them; write `identity` with the "
            "path of what identifies an event, such as `$.id`"
        )
    return identity


Identity = Annotated[JsonPaths, AfterValidator(_identified), Field(validate_default=True)]


class WebSocketSpec(HttpSourceSpec):
    """Messages of a WebSocket, each of which becomes a record."""

    schemes: ClassVar[tuple[str, str]] = ("ws", "wss")

    subscribe: tuple[str, ...] = ()
    """Messages that are sent when the connection is open, without secrets."""
    cursor: EventCursor | None = None
    """How the source is asked to go on where it was. Omitted: it cannot be, and an outage is a gap."""
    identity: Identity = ()
    """Where an event has what identifies it."""


class SseSpec(HttpSourceSpec):
    """Server-Sent Events, of which the data of each become a record."""

    schemes: ClassVar[tuple[str, str]] = ("http", "https")

    cursor: HeaderCursor | None = None
    """How the source is asked to go on where it was. Omitted: it cannot be, and an outage is a gap."""
    identity: Identity = ()
    """Where an event has what identifies it."""


class SocketSpec(RemoteSourceSpec):
    """Lines from a TCP connection, each of which becomes a record. They do not come again."""

    address: Annotated[str, StringConstraints(pattern=ADDRESS_PATTERN)]
    """`host:port`."""


class FolderSpec(LiveSourceSpec):
    """The lines of files that come into a folder; files that are there already are sent first."""

    path: str = Field(min_length=1)
    """The folder, absolute or below the project."""
    pattern: str = Field(default="*", min_length=1)
    """Which names of files are meant, such as `orders-*.csv.gz`. Hidden ones never are."""
    format: Literal["csv", "lines"]
    """`csv`: the rows become JSON objects by the file's header. `lines`: each line is sent as it is."""
    delimiter: Annotated[str, StringConstraints(pattern=r'^[^"\r\n]$')] = ","
    """Of `csv`."""
    complete_after: Duration = timedelta(seconds=10)
    """A file is complete when its size and time have not changed for so long. `0 s`: files are renamed into place."""

    @field_validator("pattern")
    @classmethod
    def _pattern_is_of_names(cls, pattern: str) -> str:
        if "/" in pattern:
            raise ValueError("it is matched with names of files, which have no `/`; name the folder by `path`")
        return pattern


def url_fault(url: str, schemes: tuple[str, str]) -> str:
    """Return why a text is no URL of these schemes; empty if it is one. Nothing of the URL but its scheme is quoted."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  it is read here
    except ValueError as error:
        return f"it is no URL: {str(error).partition(':')[0]}"
    if parts.scheme not in schemes:
        return f"its scheme is {parts.scheme!r}; it must begin with {schemes[1]}:// (or {schemes[0]}://, in the clear)"
    if not parts.hostname:
        return "it names no host"
    if parts.fragment or not url.isascii() or any(character.isspace() for character in url):
        return "it has a fragment, a blank or a letter beyond ASCII; write these in percent-encoding, or remove them"
    return ""


def _secret_in_url(url: str) -> str:
    parts = urlsplit(url)
    advice = "every user can read specs; write `connection: <name>` instead, and put the URL into the variable "
    if parts.username is not None or parts.password is not None:
        return f"it holds a user or a password, and {advice}SLUICE_CONNECTION_<NAME>"
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    secret = [name for name in names if name.lower() in _SECRET_PARAMETERS or is_secret(name.replace("-", "_"))]
    return f"its parameter {secret[0]} is a secret, and {advice}SLUICE_CONNECTION_<NAME>" if secret else ""
