from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from sluice.devstack import preflight
from sluice.devstack.preflight import find_fault, find_folder_fault, find_python_fault


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_the_supported_pythons_are_accepted(minor: int) -> None:
    assert find_python_fault(3, minor) == ""


@pytest.mark.parametrize(("major", "minor"), [(3, 6), (3, 10), (3, 14), (4, 11)])
def test_another_python_is_refused_in_one_sentence_with_the_fix(major: int, minor: int) -> None:
    fault = find_python_fault(major, minor)
    assert fault.startswith(f"python3 is {major}.{minor}, and Sluice needs one of 3.11, 3.12, 3.13. Fix: ")
    assert "\n" not in fault


def test_an_old_python_can_read_the_preflight() -> None:
    source = Path(preflight.__file__).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 6))
    imported = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {alias.name.partition(".")[0] for node in imported for alias in node.names} <= sys.stdlib_module_names


def test_a_missing_java_is_said_before_anything_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_fault().startswith(f"JAVA_HOME is {tmp_path}, and there is no bin/java in it. Fix: install a JDK 17")


def test_a_folder_that_cannot_be_used_is_said_before_anything_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert find_fault().startswith(f"the project folder '{folder}' cannot be used: ':' in it separates entries of Java")
    assert find_folder_fault("/srv/Zoë (copy) 50% = it's") == ""
