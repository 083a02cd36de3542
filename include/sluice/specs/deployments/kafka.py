"""Where Kafka is, and who Sluice's own processes connect as."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator

from sluice.specs.deployments.services import APACHE, SERVICES, KafkaService, ServiceName
from sluice.specs.model.access import Role
from sluice.specs.model.spec import ADDRESS_PATTERN, MEMORY_PATTERN, VARIABLE_PATTERN, Name, Spec

ADMINISTRATOR = "admin"
"""The user that an embedded cluster which asks has from the beginning: it may do everything."""
_ENDPOINT = re.compile(r"(https://[^\s/,\"'\\]+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?)(/[^\s,\"'\\]*)?")
"""A comma would end it where Java lists the addresses that it may ask, a quote where it is an option of a JVM."""

JAVA_STORES = (".jks", ".p12", ".pfx", ".keystore", ".truststore")
"""How the names of stores end that Java reads and Python does not."""
AS_PEM = "write its content in PEM (`openssl pkcs12 -in store.p12 -noenc`), and name that file"


def _in_pem(file: str) -> str:
    if not PurePosixPath(file).is_absolute():
        raise ValueError(f"found {file!r}; write the absolute path of a file in PEM")
    if file.lower().endswith(JAVA_STORES):
        raise ValueError(f"{file!r} looks like a store of Java's, and Python reads PEM only; {AS_PEM}")
    return file


PemFile = Annotated[str, AfterValidator(_in_pem)]
"""The absolute path of a file in PEM, on every machine that connects."""
Address = Annotated[str, StringConstraints(pattern=ADDRESS_PATTERN)]
"""Where a broker listens."""


class EmbeddedKafka(Spec):
    """One KRaft broker that `sluice up` starts on free ports of this machine."""

    kind: Literal["embedded"] = "embedded"
    heap: Annotated[str, StringConstraints(pattern=MEMORY_PATTERN)] = "256m"
    users: dict[Role, Name] = Field(default_factory=dict)
    """Role → the principal that Sluice's own processes of that role connect as, where the cluster asks (`sluice up
    --secure`). A role that is not named connects as the administrator."""
    may_pause: bool = False
    """Whether `sluice prove --fault pause-broker` may stop its processes for some seconds: all streams meet that."""

    @property
    def service(self) -> KafkaService:
        """What it can do."""
        return APACHE


class TokenEndpoint(Spec):
    """Who issues the tokens of a login, for OAuth's client credentials."""

    endpoint: str
    """Its address: https://…; http only on this machine."""
    scope: Annotated[str, StringConstraints(min_length=1, pattern=r"^[!#-\[\]-~ ]+$")] | None = None
    """What is asked for; omitted: what the issuer gives by itself."""
    ca: PemFile | None = None
    """The authorities of its certificate; omitted: those that the machine trusts."""

    @field_validator("endpoint")
    @classmethod
    def _is_encrypted(cls, endpoint: str) -> str:
        if not _ENDPOINT.fullmatch(endpoint):
            raise ValueError(f"found {endpoint!r}; write its address, such as https://id.example.org/oauth/token")
        return endpoint


class Login(Spec):
    """A user, and where its password is."""

    user: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    password_variable: Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)]
    """The variable that holds it; with `_FILE` behind it, the path of a file that does, with `_COMMAND`, a command."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "SCRAM-SHA-512"
    token: TokenEndpoint | None = Field(default=None, validate_default=True)
    """Of OAUTHBEARER: where a token is given for the user, the client's id, and the password, its secret."""

    @field_validator("token")
    @classmethod
    def _belongs_to_oauth(cls, token: TokenEndpoint | None, info: ValidationInfo) -> TokenEndpoint | None:
        mechanism = info.data.get("mechanism", "OAUTHBEARER" if token else "")
        if mechanism == "OAUTHBEARER" and token is None:
            raise ValueError("OAUTHBEARER needs it; write `token: {endpoint: https://…}`")
        if mechanism != "OAUTHBEARER" and token is not None:
            raise ValueError(f"the mechanism is {mechanism}, which knows no tokens; write `mechanism: OAUTHBEARER`")
        return token


class Tls(Spec):
    """How connections are encrypted, and whose certificates count. `{}`: by the authorities that the machine trusts."""

    ca: PemFile | None = None
    """The certificates of the authorities that sign those of brokers."""
    certificate: PemFile | None = None
    """A client's own certificate, with those between it and its authority behind it."""
    key: PemFile | None = None
    """Its private key (PKCS #8); omitted: in the same file as the certificate."""
    key_password_variable: Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)] | None = None
    """The variable that holds the password of the key, or `_FILE` or `_COMMAND`; omitted: the key is not encrypted."""
    verify_hostname: bool = True
    """Whether a broker's certificate has to name the address that a client connects to."""

    @field_validator("key", "key_password_variable")
    @classmethod
    def _belongs_to_a_certificate(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("certificate") is None:
            raise ValueError("a key is of no use without its certificate; name it by `certificate`")
        return value


class ExternalKafka(Spec):
    """A cluster that Sluice does not run."""

    kind: Literal["external"] = "external"
    bootstrap: tuple[Address, ...] = Field(min_length=1)
    client: dict[str, str] = Field(default_factory=dict)
    """Client settings without secrets, under Kafka's names."""
    tls: Tls | None = None
    """Connections are encrypted; omitted: as `client` says, at first not."""
    login: Login | None = None
    """Who Sluice's own processes connect as; omitted: no user, or the one that a certificate names."""
    users: dict[Role, Name] = Field(default_factory=dict)
    """Role → the principal that processes of that role connect as instead."""
    profile: ServiceName = "apache"
    """Which service it is: what that cannot do, plans list, and nothing of it is attempted."""

    @property
    def service(self) -> KafkaService:
        """What it can do."""
        return SERVICES[self.profile]
