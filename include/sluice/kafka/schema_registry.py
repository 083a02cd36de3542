"""What a registry holds of a subject. Only people ask it, never a run: what a run reads is in the repository."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request

from sluice.contracts.contract import AVRO, JSON_SCHEMA, PROTOBUF
from sluice.errors import SpecError, UnreachableError
from sluice.kafka.client.direct_request import open_directly

_ENDINGS = {"AVRO": AVRO, "JSON": JSON_SCHEMA, "PROTOBUF": PROTOBUF}
_PATIENCE_SECONDS = 15
_NOT_FOUND = 404


@dataclass(frozen=True)
class Registered:
    """One version of a subject.

    Attributes:
        version: the registry's number of it.
        id: what stands in the frames of records.
        ending: of a file with it: `.avsc`, `.json` or `.proto`.
        text: the schema.
    """

    version: int
    id: int
    ending: str
    text: str


@dataclass(frozen=True)
class SchemaRegistry:
    """A registry.

    Attributes:
        url: its address, with http or https.
        login: `user:password`; empty for none.
    """

    url: str
    login: str = ""

    def versions(self, subject: str) -> Iterator[Registered]:
        """Yield the versions of a subject, oldest first.

        Raises:
            SpecError: there is no such subject, a schema is of another language or made of several, or the address is
                none.
            UnreachableError: the registry could not be queried, or gives no answer of this protocol.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        numbers = self._get(path, subject)
        if not isinstance(numbers, list) or not numbers or not all(isinstance(number, int) for number in numbers):
            raise self._nonsense(path)
        for number in sorted(numbers):
            yield self._registered(f"{path}/{number}", subject)

    def _registered(self, path: str, subject: str) -> Registered:
        answer = self._get(path, subject)
        match answer:
            case {"version": int(version), "id": int(key), "schema": str(text)}:
                language = str(answer.get("schemaType", "AVRO"))
            case _:
                raise self._nonsense(path)
        if language not in _ENDINGS:
            raise SpecError(
                f"version {version} of {subject} is written in {language}.",
                fix="contracts are AVRO, JSON or PROTOBUF.",
            )
        if _ENDINGS[language] != PROTOBUF and not _is_object(text):
            raise SpecError(f"version {version} of {subject} is no object in JSON.", fix="contracts describe records.")
        if answer.get("references"):
            message = f"version {version} of {subject} refers to other subjects, and a contract is one file."
            raise SpecError(message, fix="write it out in one schema.")
        return Registered(version, key, _ENDINGS[language], text)

    def _get(self, path: str, subject: str) -> Any:  # noqa: ANN401 - JSON
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise SpecError(f"{self.url!r} is no address of a registry.", fix="write http:// or https:// and the host.")
        if "@" in urlsplit(self.url).netloc:
            raise SpecError(
                "the registry's address holds a login.", fix="set SLUICE_REGISTRY_LOGIN=user:password instead."
            )
        request = Request(self.url.rstrip("/") + path)  # noqa: S310 - http and https only, as seen above
        request.add_header("Accept", "application/vnd.schemaregistry.v1+json, application/json")
        if self.login:
            request.add_header("Authorization", f"Basic {base64.b64encode(self.login.encode()).decode()}")
        try:
            with open_directly(request, seconds=_PATIENCE_SECONDS) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            if error.code == _NOT_FOUND:
                fix = "name another one by --subject; most producers use <topic>-value."
                raise SpecError(f"the registry has no subject {subject!r}.", fix=fix) from None
            raise UnreachableError(f"the registry refuses {path}: {error.code} {error.reason}.") from None
        except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
            why = getattr(error, "reason", None) or error
            raise UnreachableError(f"the registry could not be queried: {why}.", fix="check --registry.") from None
        except ValueError:
            raise self._nonsense(path) from None

    def _nonsense(self, path: str) -> UnreachableError:
        return UnreachableError(f"{self.url} gives no answer of a schema registry to {path}.", fix="check --registry.")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
