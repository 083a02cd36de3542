from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sluice.devstack.own_jar import OwnJar
from sluice.errors import NotReadyError

SOURCE = "package a; public class B {{ public int c() {{ return {}; }} }}"


@pytest.fixture
def own(tmp_path: Path) -> OwnJar:
    own = OwnJar(tmp_path / "java", tmp_path / "jars")
    write(own, SOURCE.format(1))
    return own


def write(own: OwnJar, source: str) -> None:
    file = own.sources / "a" / "B.java"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)


def test_it_is_compiled_once_and_again_for_other_sources(own: OwnJar) -> None:
    first = own.path
    assert own.missing() == (f"jars/{first.name}",)
    assert own.ensure([])
    assert not own.ensure([])
    assert zipfile.ZipFile(first).namelist() == ["a/B.class"]

    write(own, SOURCE.format(2))
    assert own.missing() == (f"jars/{own.path.name}",)
    assert own.ensure([])
    assert [file.name for file in own.folder.iterdir()] == [own.path.name] != [first.name]


def test_what_lies_in_meta_inf_goes_into_the_jar_as_it_is_and_another_text_makes_another_jar(own: OwnJar) -> None:
    before = own.path
    services = own.sources / "META-INF" / "services" / "a.Service"
    services.parent.mkdir(parents=True)
    services.write_text("a.B")
    first = own.path
    assert first != before
    assert own.ensure([])
    packed = zipfile.ZipFile(first)
    assert packed.namelist() == ["META-INF/services/a.Service", "a/B.class"]
    assert packed.read("META-INF/services/a.Service") == b"a.B"
    services.write_text("a.C")
    assert own.path != first


def test_sources_with_a_fault_are_refused_with_the_compilers_words(own: OwnJar) -> None:
    write(own, SOURCE.format("x"))
    with pytest.raises(NotReadyError, match="cannot find symbol"):
        own.ensure([])
    assert list(own.folder.iterdir()) == []


def test_a_java_without_a_compiler_is_named(own: OwnJar, tmp_path: Path) -> None:
    java = tmp_path / "jre" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("")
    java.chmod(0o755)
    with pytest.raises(NotReadyError, match="no javac"):
        own.ensure([], str(tmp_path / "jre"))
