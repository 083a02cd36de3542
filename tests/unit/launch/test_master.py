from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.errors import UnreachableError
from sluice.launch.master import leading_capacity, read_capacity
from sluice.specs.deployments.deployment import PageTls
from sluice.streams.failures.capacity import Application, ClusterCapacity, Worker
from tests.certificates import TestAuthority, make_authority
from tests.twins.spark_master import MASTER, MasterPage, application, serving, worker


@pytest.fixture
def page() -> Iterator[MasterPage]:
    with serving(MasterPage()) as page:
        yield page


def test_workers_cores_and_who_holds_them_are_read(page: MasterPage) -> None:
    page.workers = [worker(used=1), worker()]
    page.applications = [application("sluice-local-flights", 1), application("sluice-local-weather", 0, "WAITING")]
    assert read_capacity(page.address) == ClusterCapacity(
        MASTER,
        (Worker(1, 0, 324), Worker(1, 1, 1024)),
        (Application("sluice-local-flights", 1), Application("sluice-local-weather", 0)),
    )


def test_a_worker_that_is_dead_offers_nothing(page: MasterPage) -> None:
    page.workers = [{**worker(), "state": "DEAD"}, worker()]
    assert read_capacity(page.address + "/").workers == (Worker(1, 1, 1024),)


@pytest.mark.parametrize("status", ["STANDBY", "RECOVERING", "COMPLETING_RECOVERY"])
def test_a_master_that_does_not_lead_offers_nothing_and_is_not_empty(page: MasterPage, status: str) -> None:
    page.status = status
    with pytest.raises(UnreachableError, match=f"says that it is {status}"):
        read_capacity(page.address)


@pytest.mark.parametrize("raw", [b"", b"<html></html>", b"[]", b"null", b"{}", b'{"status": "ALIVE", "workers": 7}'])
def test_the_page_of_something_else_is_not_taken_for_that_of_a_master(page: MasterPage, raw: bytes) -> None:
    page.raw = raw
    with pytest.raises(UnreachableError, match="is no page of a Spark master"):
        read_capacity(page.address)


def test_a_redirect_is_not_followed(page: MasterPage) -> None:
    with serving(MasterPage()) as elsewhere:
        page.moved = f"{elsewhere.address}/json/"
        with pytest.raises(UnreachableError, match="status 302"):
            read_capacity(page.address)
        assert (page.asked, elsewhere.asked) == (1, 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """To whom somebody tried to connect; nobody gets through."""
    tried: list[object] = []

    def connect(address: object, *_: object, **__: object) -> socket.socket:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    return tried


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "'' is no address"),
        ("file:///etc/hostname", "'file:///etc/hostname' is no address"),
        ("127.0.0.1:8080", "'127.0.0.1:8080' is no address"),
        ("//127.0.0.1:8080", "'//127.0.0.1:8080' is no address"),
        ("ftp://127.0.0.1:8080", "'ftp://127.0.0.1:8080' is no address"),
        ("http://127.0.0.1:99999", "Port out of range"),
    ],
)
def test_for_what_is_not_an_address_nobody_is_asked(address: str, said: str, asked: list[object]) -> None:
    with pytest.raises(UnreachableError, match=said):
        read_capacity(address)
    assert asked == []


def test_an_address_that_does_not_answer_is_asked_once(asked: list[object]) -> None:
    with pytest.raises(UnreachableError, match="does not answer"):
        read_capacity("http://127.0.0.1:8080")
    assert asked == [("127.0.0.1", 8080)]


def test_nobody_there_is_unknown() -> None:
    with serving(MasterPage()) as gone:
        address = gone.address
    with pytest.raises(UnreachableError, match="does not answer"):
        read_capacity(address, 0.5)


def test_of_several_masters_the_one_that_leads_says_what_there_is(page: MasterPage) -> None:
    page.workers = [worker(cores=4)]
    with serving(MasterPage()) as gone:
        dead = gone.address
    with serving(MasterPage(status="STANDBY")) as standby:
        for pages in ([page.address, standby.address], [standby.address, dead, page.address]):
            assert leading_capacity(pages).workers == (Worker(4, 4, 1024),)


def test_where_no_master_leads_nothing_is_known_and_it_is_said_of_each_why(page: MasterPage) -> None:
    page.status = "RECOVERING"
    with serving(MasterPage(status="STANDBY")) as standby, pytest.raises(UnreachableError) as unknown:
        leading_capacity([page.address, standby.address])
    assert "none of 2 Spark masters leads" in unknown.value.message
    assert f"{page.address} says that it is RECOVERING" in unknown.value.message
    assert f"{standby.address} says that it is STANDBY" in unknown.value.message


def test_of_a_single_master_it_is_said_as_ever(page: MasterPage) -> None:
    page.status = "RECOVERING"
    with pytest.raises(UnreachableError, match=r"^the Spark master's page .* says that it is RECOVERING"):
        leading_capacity([page.address])


def encryption(authority: TestAuthority, server: Path) -> ssl.SSLContext:
    """Return what a page encrypts with that asks who comes."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.ca))
    context.load_cert_chain(server)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_page_that_asks_who_comes_is_read_with_a_certificate_and_by_nobody_else(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    server, client = authority.issue("server"), authority.issue("client")
    (tmp_path / "other").mkdir()
    stranger = make_authority(tmp_path / "other").issue("stranger")
    ca = str(authority.ca)
    with serving(MasterPage(workers=[worker()]), encryption(authority, server.both)) as page:
        for known in (
            PageTls(ca=ca, certificate=str(client.both)),
            PageTls(ca=ca, certificate=str(client.certificate), key=str(client.key)),
        ):
            assert len(read_capacity(page.address, tls=known).workers) == 1
        assert len(leading_capacity([page.address], tls=known).workers) == 1
        asked = page.asked
        refused = (
            None,
            PageTls(ca=ca),
            PageTls(ca=ca, certificate=str(stranger.both)),
            PageTls(certificate=str(client.both)),
        )
        for files in (*refused, PageTls(ca=str(tmp_path / "none.pem"))):
            with pytest.raises(UnreachableError, match="does not answer"):
                read_capacity(page.address, tls=files)
        assert page.asked == asked
