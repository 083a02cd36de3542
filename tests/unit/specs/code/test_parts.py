"""The parts of code: kept by their hash, and compared part by part."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.code.parts import CodeChanges, CodeParts, KeyChange, code_changes, kept_parts

OLD = CodeParts.of(
    [("a.py", b"1"), ("b.py", b"2"), ("gone.py", b"3")],
    {"pipeline": {"time": {"allowed_lateness": 7200}, "transform": "a"}, "expected": [("unique", {"column": "x"})]},
    {"airports": "aa", "airlines": "bb"},
)


def test_a_hash_stays_what_it_was_before_parts_were_kept() -> None:
    parts = CodeParts.of([("b", b"x\n"), ("a", b"y")], {"k": {"n": (1, None)}}, {"s": "aa"})
    assert parts.hash == "05b26db6387693d91ce3ae50e3e2522f77f2f93f468d953af00e320431ad9471"


def test_what_differs_is_named_module_by_module_key_by_key_and_input_by_input() -> None:
    new = CodeParts.of(
        [("a.py", b"1\r\n".replace(b"\r\n", b"")), ("b.py", b"other"), ("new.py", b"4")],
        {
            "pipeline": {"time": {"allowed_lateness": 3600}, "transform": "a", "spark": {"x": "1"}},
            "expected": [("unique", {"column": "x"})],
        },
        {"airports": "aa", "airlines": "cc"},
    )
    assert code_changes(OLD, new) == CodeChanges(
        modules=("b.py", "gone.py", "new.py"),
        keys=(
            KeyChange("pipeline.spark", None, {"x": "1"}),
            KeyChange("pipeline.time.allowed_lateness", 7200, 3600),
        ),
        static=("airlines",),
    )


def test_parts_that_were_kept_are_found_by_their_hash_and_differ_from_nothing(tmp_path: Path) -> None:
    code = OLD.keep(tmp_path / "code")
    assert code == OLD.hash
    found = kept_parts(tmp_path / "code", code)
    assert found is not None
    assert code_changes(found, OLD) == CodeChanges()
    OLD.keep(tmp_path / "code")


def test_of_code_whose_parts_nobody_kept_nothing_is_said(tmp_path: Path) -> None:
    code = OLD.keep(tmp_path)
    file = tmp_path / f"{code}.json"
    for spoilt in ("", "[]", "{}", '{"other": 1}', file.read_text().replace("allowed_lateness", "lateness")):
        file.write_text(spoilt)
        assert kept_parts(tmp_path, code) is None
    assert kept_parts(tmp_path / "nowhere", code) is None


@given(st.dictionaries(st.text(max_size=3), st.binary(max_size=3)), st.dictionaries(st.text(max_size=3), st.text()))
def test_code_differs_in_some_part_if_its_hash_does(files: dict[str, bytes], static: dict[str, str]) -> None:
    one, other = CodeParts.of(files.items(), {}, static), CodeParts.of([], {}, {})
    assert (code_changes(one, other) == CodeChanges()) == (one.hash == other.hash)
