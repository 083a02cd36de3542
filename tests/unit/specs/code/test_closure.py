"""The identity of code: what belongs to it, what changes it, and the archive that carries it."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.code.closure import build_archive, import_closure, meaning
from sluice.specs.code.parts import CodeParts
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.reading.faults import SpecFaults
from tests.unit.specs.bench import TRANSFORM_FILE, Bench, sound_project

_BEFORE_OTHER_FORMS = "167d9beb36050e0275f8f890ebddae60948e1b2e2fd683fa091b6cc372f940ac"
FILES = st.dictionaries(st.text("abc/", min_size=1, max_size=6), st.binary(max_size=20), max_size=5)


def tree(root: Path, modules: dict[str, str]) -> None:
    for name, text in modules.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("import lib.a", ["lib/__init__.py", "lib/a.py"]),
        ("import lib.a as short", ["lib/__init__.py", "lib/a.py"]),
        ("from lib import a", ["lib/__init__.py", "lib/a.py"]),
        ("from lib import name_in_init", ["lib/__init__.py"]),
        ("from lib.deep import b", ["lib/__init__.py", "lib/deep/__init__.py", "lib/deep/b.py"]),
        ("from lib.deep.b import f", ["lib/__init__.py", "lib/deep/__init__.py", "lib/deep/b.py"]),
        ("from . import sibling", ["jobs/sibling.py"]),
        ("from .sibling import f", ["jobs/sibling.py"]),
        ("from .. import outside", []),
        ("def f():\n    import lib.a", ["lib/__init__.py", "lib/a.py"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lib.a", ["lib/__init__.py", "lib/a.py"]),
        ("import os, json, pyspark", []),
        ("import bare", ["bare.py"]),
        ("from spaced.c import f", ["spaced/c.py"]),
        ("from lib import up", ["lib/__init__.py", "lib/deep/__init__.py", "lib/deep/b.py", "lib/up.py"]),
    ],
)  # fmt: skip
def test_the_closure_holds_what_an_import_executes(tmp_path: Path, text: str, reached: list[str]) -> None:
    tree(
        tmp_path,
        {
            "jobs/__init__.py": "",
            "jobs/entry.py": text,
            "jobs/sibling.py": "",
            "lib/__init__.py": "",
            "lib/a.py": "",
            "lib/up.py": "from .deep.b import f",
            "lib/deep/__init__.py": "",
            "lib/deep/b.py": "",
            "bare.py": "",
            "spaced/c.py": "",
        },
    )
    closure = import_closure(tmp_path / "jobs" / "entry.py", [tmp_path])
    names = [path.relative_to(tmp_path).as_posix() for path in closure]
    assert names == sorted(["jobs/__init__.py", "jobs/entry.py", *reached])


def test_the_closure_ends_where_modules_import_each_other(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": "import b", "b.py": "import a"})
    assert import_closure(tmp_path / "a.py", [tmp_path]) == (tmp_path / "a.py", tmp_path / "b.py")


def test_the_closure_spans_roots_and_the_first_root_wins(tmp_path: Path) -> None:
    tree(tmp_path, {"one/entry.py": "import lib, other", "one/lib.py": "", "two/lib.py": "", "two/other.py": ""})
    closure = import_closure(tmp_path / "one" / "entry.py", [tmp_path / "one", tmp_path / "two"])
    assert [path.relative_to(tmp_path).as_posix() for path in closure] == ["one/entry.py", "one/lib.py", "two/other.py"]


def test_a_module_that_is_not_python_ends_the_closure_with_its_line(tmp_path: Path) -> None:
    tree(tmp_path, {"entry.py": "x = 1\nimport\n"})
    with pytest.raises(SpecFaults) as raised:
        import_closure(tmp_path / "entry.py", [tmp_path])
    assert raised.value.faults[0].line == 2


def test_the_closure_sees_an_edit(tmp_path: Path) -> None:
    tree(tmp_path, {"entry.py": "", "lib.py": ""})
    assert len(import_closure(tmp_path / "entry.py", [tmp_path])) == 1
    tree(tmp_path, {"entry.py": "import lib"})
    assert len(import_closure(tmp_path / "entry.py", [tmp_path])) == 2


@given(FILES, st.randoms(use_true_random=False))
def test_the_hash_does_not_depend_on_order(files: dict[str, bytes], rng: random.Random) -> None:
    shuffled = list(files.items())
    rng.shuffle(shuffled)
    static = {"a": "1", "b": "2"}
    first = CodeParts.of(files.items(), {"x": 1, "y": 2}, static).hash
    assert first == CodeParts.of(shuffled, {"y": 2, "x": 1}, dict(reversed(static.items()))).hash
    assert len(first) == 64


@given(FILES, FILES)
def test_other_files_have_another_hash(one: dict[str, bytes], two: dict[str, bytes]) -> None:
    def without_line_ends(files: dict[str, bytes]) -> dict[str, bytes]:
        return {name: b"\n".join(content.splitlines()) for name, content in files.items()}

    alike = CodeParts.of(one.items(), {}, {}).hash == CodeParts.of(two.items(), {}, {}).hash
    assert alike <= (without_line_ends(one) == without_line_ends(two))


def test_line_ends_do_not_count_and_comments_do() -> None:
    unix, windows = CodeParts.of([("a", b"x\ny\n")], {}, {}).hash, CodeParts.of([("a", b"x\r\ny\r\n")], {}, {}).hash
    assert unix == windows
    assert unix != CodeParts.of([("a", b"x\ny # note\n")], {}, {}).hash


def test_a_changed_static_input_changes_the_hash() -> None:
    assert CodeParts.of([], {}, {"shops": "aa"}).hash != CodeParts.of([], {}, {"shops": "ab"}).hash


def specs(bench: Bench) -> tuple[PipelineSpec, dict[str, TopicSpec]]:
    catalog = bench.scan().catalog
    return catalog.pipelines["sales"], {"orders": catalog.topics["orders"]}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("pipelines/sales", "driver: shop", "driver: another"),
        ("pipelines/sales", "driver: shop", "driver: shop\ndescription: Words.\nowner: sales\ntrigger: 1 min"),
        ("pipelines/sales", "driver: shop", "driver: shop\nresources: {cores: 8}"),
        (
            "pipelines/sales",
            "driver: shop",
            "driver: shop\nstart: latest\nmirror_group: sales\nmax_records_per_batch: 9\nprove: weekly",
        ),
        ("pipelines/sales", "driver: shop", "driver: shop\ncircuit_breaker: {share: 0.2}"),
        ("pipelines/sales", "  table: sales", "  table: sales_2"),
        ("pipelines/sales", "future_skew: 5 min", "future_skew: 300s\n  watermark_delay: 65 min"),
        ("topics/orders", "partitions: 2", "partitions: 8\ndescription: Words."),
        ("pipelines/sales", "interval: hour", "interval: hour\n  scope: range"),
        ("topics/orders", "retention: 7 days", "retention: forever"),
        ("topics/orders", "  heartbeat: beat", "  heartbeat: beat\n  event_id: [id]"),
        ("topics/orders", "table: orders_raw", "table: orders_raw_2\n  max_records_per_batch: 9"),
    ],
)
def test_what_changes_no_result_has_no_meaning(bench: Bench, file: str, old: str, new: str) -> None:
    before = meaning(*specs(bench))
    bench.edit(f"include/{file}.yaml", old, new)
    assert meaning(*specs(bench)) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("pipelines/sales", "allowed_lateness: 1 hour", "allowed_lateness: 2 hours"),
        ("pipelines/sales", "future_skew: 5 min", "future_skew: 6 min"),
        ("pipelines/sales", "future_skew: 5 min", "future_skew: 5 min\n  watermark_delay: 2 hours"),
        ("pipelines/sales", "window: 1 hour", "window: 30 min"),
        ("pipelines/sales", "interval: hour", "interval: day"),
        ("pipelines/sales", "interval: hour", "interval: hour\n  scope: interval"),
        ("pipelines/sales", '"4"', '"8"'),
        ("pipelines/sales", "city: string", ""),
        ("topics/orders", "minimum: 0", "minimum: 1"),
        ("topics/orders", "arrival_time: seen_at", "arrival_time: ordered_at"),
        ("topics/orders", "  heartbeat: beat\n", ""),
    ],
)
def test_what_changes_results_has_meaning(bench: Bench, file: str, old: str, new: str) -> None:
    before = meaning(*specs(bench))
    bench.edit(f"include/{file}.yaml", old, new)
    if new.startswith("window:"):  # the transform makes the windows that its spec declares
        bench.edit(TRANSFORM_FILE, '"1 hour"', '"30 minutes"')
    assert meaning(*specs(bench)) != before


def test_an_archive_has_the_same_bytes_and_name_for_the_same_modules(tmp_path: Path) -> None:
    files = {"lib/__init__.py": b"", "lib/a.py": b"VALUE = 5\n"}
    one = build_archive(files.items(), tmp_path / "one")
    two = build_archive(reversed(files.items()), tmp_path / "two")
    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()


def test_other_modules_get_an_archive_of_their_own(tmp_path: Path) -> None:
    one = build_archive([("a.py", b"x")], tmp_path)
    two = build_archive([("a.py", b"y")], tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([one, two])


def test_python_imports_from_the_archive(tmp_path: Path) -> None:
    archive = build_archive([("lib/__init__.py", b""), ("lib/a.py", b"VALUE = 'from the archive'\n")], tmp_path)
    with zipfile.ZipFile(archive) as content:
        assert content.testzip() is None
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import lib.a; print(lib.a.VALUE)"
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "from the archive"


def test_what_is_declared_of_a_csv_file_names_the_code_as_it_always_did(tmp_path: Path) -> None:
    """What was settled before static inputs had other forms is not stale for their sake."""
    catalog = sound_project(tmp_path).scan().catalog
    said = meaning(catalog.pipelines["sales"], {"orders": catalog.topics["orders"]})
    assert CodeParts.of([], said, {"shops": "a digest"}).hash == _BEFORE_OTHER_FORMS
