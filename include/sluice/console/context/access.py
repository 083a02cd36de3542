"""Visitors of the console, and what they may see and request: the port to the system that knows users.

Invariant: no route is open. The gate is a dependency of the whole application, so a new route is behind it, too; a page
then asks the visitor about the DAGs that it shows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request

Subject = TypeVar("Subject")


class Visitor(Protocol):
    """An admitted user.

    Attributes:
        name: for the record.
        login_free: whether there is no login: then the console is read-only.
    """

    name: str
    login_free: bool

    def readable(self, dag_ids: Collection[str]) -> Collection[str]:
        """Return those of some DAGs that the visitor may see."""
        ...

    def may_run(self, dag_id: str) -> bool:
        """Whether the visitor may start runs of a DAG, as every action of the console does."""
        ...


class AnonymousVisitor:
    """The visitor of a console without a login: sees everything, changes nothing."""

    name = "a user of this machine"
    login_free = True

    def readable(self, dag_ids: Collection[str]) -> Collection[str]:
        """Return all of them."""
        return dag_ids

    def may_run(self, dag_id: str) -> bool:
        """Say no."""
        _ = dag_id
        return False


Gate = Callable[..., Awaitable[Visitor]]
"""A dependency of FastAPI's that returns the visitor, or raises HTTPException 401 or 403."""


async def login_free_gate(request: Request) -> Visitor:
    """Admit requests to this machine under its own name.

    A foreign page can make a browser send requests to another name that resolves to 127.0.0.1 (DNS rebinding).

    Raises:
        HTTPException: 403, another name was used.
    """
    if request.url.hostname not in LOOPBACK:
        raise HTTPException(403, "without a login the console answers on 127.0.0.1 and localhost only")
    return AnonymousVisitor()


LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def current(request: Request) -> Visitor:
    """Return the admitted visitor."""
    return cast(Visitor, request.state.visitor)


VisitorDep = Annotated[Visitor, Depends(current)]


def readable(visitor: Visitor, by_dag: Mapping[str, Subject]) -> list[Subject]:
    """Return the subjects whose DAGs a visitor may see."""
    return [by_dag[dag_id] for dag_id in visitor.readable(list(by_dag))]


def refuse_foreign_origin(request: Request) -> None:
    """Refuse a write that a foreign page made a browser send.

    A browser names the origin of the page with every POST. `SameSite` alone does not distinguish ports of this host.
    A program sends no origin, and needs a token instead of a cookie.

    Raises:
        HTTPException: 403.
    """
    origin = request.headers.get("origin")
    if origin is None:
        if request.headers.get("authorization", "").lower().startswith("bearer "):
            return
        raise HTTPException(403, "a write needs the origin of its page, or a token in the header Authorization")
    hosts = {request.headers.get("host"), request.headers.get("x-forwarded-host")} - {None}
    if urlsplit(origin).netloc not in hosts:
        raise HTTPException(403, f"a write from {origin!r:.100} is refused: it is another origin")
