"""Who looks at the console, and what they may see and ask for: the port to whoever knows people.

Invariant: a route that nobody is admitted to does not exist. The gate is a dependency of the whole application, so that
a new route is behind it before anybody thinks of that; a page then asks the visitor about the DAGs that it shows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Annotated, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request

Subject = TypeVar("Subject")


class Visitor(Protocol):
    """Somebody who was admitted.

    Attributes:
        name: for the record.
        login_free: nobody has asked who it is: the console stands alone, and shows without changing anything.
    """

    name: str
    login_free: bool

    def readable(self, dag_ids: Collection[str]) -> Collection[str]:
        """Return those of some DAGs that the visitor may see."""
        ...

    def may_run(self, dag_id: str) -> bool:
        """Whether the visitor may start runs of a DAG, which is how anything is asked for."""
        ...


class AnonymousVisitor:
    """Who looks at a console without a login: sees everything, changes nothing."""

    name = "anybody on this machine"
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
    """Admit whoever speaks to this machine by its own name.

    A page from elsewhere can make a browser send requests here under a name that leads to 127.0.0.1; its name betrays
    it.

    Raises:
        HTTPException: 403, another name was used.
    """
    if request.url.hostname not in LOOPBACK:
        raise HTTPException(403, "without a login the console answers on 127.0.0.1 and localhost only")
    return AnonymousVisitor()


LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def current(request: Request) -> Visitor:
    """Return who was admitted."""
    return cast(Visitor, request.state.visitor)


VisitorDep = Annotated[Visitor, Depends(current)]


def readable(visitor: Visitor, by_dag: Mapping[str, Subject]) -> list[Subject]:
    """Return the subjects whose DAGs a visitor may see."""
    return [by_dag[dag_id] for dag_id in visitor.readable(list(by_dag))]


def refuse_foreign_origin(request: Request) -> None:
    """Refuse a write that a page from elsewhere made a browser send.

    A browser names the origin of the page with every POST. `SameSite` alone does not tell another port of this host.
    A program sends none, and has to show a token instead of a cookie.

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
