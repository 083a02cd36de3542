from __future__ import annotations

import socket
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import NotReadyError
from sluice.launch import ports
from sluice.launch.ports import DEFAULT_PORTS, Ports, choose_ports, is_free, read_ports, reserved, write_ports

PORT = st.integers(9085, 9105)


def test_the_ports_that_everybody_expects_are_taken_if_they_are_free() -> None:
    assert choose_ports({}, lambda _: True) == Ports(**DEFAULT_PORTS)


@given(
    kept=st.dictionaries(st.sampled_from(sorted(DEFAULT_PORTS)), PORT),
    taken=st.sets(PORT | st.sampled_from(sorted(DEFAULT_PORTS.values()))),
)
def test_chosen_ports_are_free_and_differ_and_kept_ones_stay_if_they_can(kept: dict[str, int], taken: set[int]) -> None:
    found = choose_ports(kept, lambda port: port not in taken)
    chosen = asdict(found)
    assert taken.isdisjoint(chosen.values())
    assert len(set(chosen.values())) == len(chosen)
    if "airflow" in kept and kept["airflow"] not in taken:
        assert found.airflow == kept["airflow"]


def test_no_free_port_is_said_with_what_to_do() -> None:
    with pytest.raises(NotReadyError, match=r"No port from 8080 to 8279 is free for airflow\. Fix: "):
        choose_ports({}, lambda _: False)


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)


def test_ports_are_kept_per_state_folder(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    assert read_ports(path) == {}
    some = Ports(8081, 9096, 9097, 7078, 8082)
    write_ports(path, some)
    assert Ports(**read_ports(path)) == some


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """One that is free, in a folder of locks that nobody has used."""
    monkeypatch.setattr(ports, "made_private_folder", lambda: tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_port_that_one_stack_has_chosen_is_no_others_before_it_is_listened_on(port: int) -> None:
    with reserved("one", nobody) as one, reserved("another", nobody) as another:
        assert one(port)
        assert not another(port)
    with reserved("another", nobody) as later:
        assert later(port), "who is done and not up holds nothing"


def test_a_stack_that_is_up_keeps_the_ports_of_components_that_are_down(port: int) -> None:
    with reserved("one", nobody) as one:
        assert one(port)
    with reserved("another", lambda state: state == "one") as another:
        assert not another(port)
    with reserved("one", lambda state: state == "one") as one:
        assert one(port), "its own ports are free to a stack"


def nobody(_state: str) -> bool:
    return False
