"""A memo of read specs saves time and changes no result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import SpecError
from sluice.specs.load import Scan, scan
from sluice.specs.reading.document import Document, parse_document
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.memo import Memo
from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, TOPIC_FILE, Bench

LARGE = """\
name: large
source: orders
transform: large:large
time: {allowed_lateness: 1 hour, future_skew: 5 min}
outputs:
- {kind: topic, topic: large, keys: [id], create: {partitions: 2, deployments: {prod: {partitions: 4}}}}
driver: quick
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memo.json"


class Reader:
    """Reads specs with a memo, and knows which files' YAML had to be parsed."""

    def __init__(self, bench: Bench, file: Path) -> None:
        self._bench, self._file = bench, file
        self.parsed: list[str] = []

    def scan(self) -> Scan:
        self.parsed = []
        memo = Memo(self._file, self._parse)
        found = scan(self._bench.home / "include", parse=memo.parse)
        memo.save()
        return found

    def _parse(self, content: bytes, name: str) -> Document:
        self.parsed.append(name)
        return parse_document(content, name)


@pytest.fixture
def reader(bench: Bench, file: Path) -> Reader:
    return Reader(bench, file)


def test_what_was_read_once_is_not_read_again(bench: Bench, reader: Reader) -> None:
    first = reader.scan()
    assert PIPELINE_FILE in reader.parsed

    assert reader.scan().catalog == first.catalog == bench.scan().catalog
    assert reader.parsed == []


def test_a_file_that_changed_is_read_and_only_that_one(bench: Bench, reader: Reader) -> None:
    reader.scan()
    bench.edit(PIPELINE_FILE, "future_skew: 5 min", "future_skew: 6 min")

    assert reader.scan().catalog == bench.scan().catalog
    assert reader.parsed == [PIPELINE_FILE]


def test_a_fault_in_a_remembered_file_has_its_line(bench: Bench, reader: Reader) -> None:
    reader.scan()
    (bench.home / "spark_jobs" / "transforms" / "sales.py").unlink()  # the spec's own bytes stay

    assert reader.scan().faults == bench.scan().faults
    assert bench.scan().faults[0].line > 1


def test_a_broken_file_is_broken_each_time(bench: Bench, reader: Reader) -> None:
    bench.edit(PIPELINE_FILE, "source: orders", "source: orders\nsource: orders")
    first = reader.scan()

    assert first.faults
    assert reader.scan().faults == first.faults


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"code": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_memo_is_no_memo(content: bytes, bench: Bench, reader: Reader, file: Path) -> None:
    file.write_bytes(content)

    assert reader.scan().catalog == bench.scan().catalog
    assert json.loads(file.read_text(encoding="utf-8"))["documents"]


def test_a_memo_of_other_code_is_not_believed(reader: Reader, file: Path) -> None:
    reader.scan()
    kept = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**kept, "code": "another"}), encoding="utf-8")

    reader.scan()
    assert PIPELINE_FILE in reader.parsed


def test_nothing_is_written_where_there_is_no_state_folder(bench: Bench, tmp_path: Path) -> None:
    Reader(bench, tmp_path / "nowhere" / "memo.json").scan()

    assert not (tmp_path / "nowhere").exists()


def test_a_memo_forgets_what_is_no_longer_read(bench: Bench, reader: Reader, file: Path) -> None:
    reader.scan()
    bench.edit(PIPELINE_FILE, "future_skew: 5 min", "future_skew: 6 min")
    reader.scan()

    documents = json.loads(file.read_text(encoding="utf-8"))["documents"].values()
    assert [found["time"]["future_skew"] for found in documents if found["name"] == "sales"] == ["6 min"]


@given(st.text(max_size=60) | st.sampled_from([PIPELINE, "a: 1.5e3", "a: 0", "a: -1.0", "a: {b: [x, true, ~]}"]))
def test_a_memo_says_what_the_parser_says(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file, content = tmp_path_factory.mktemp("memo") / "memo.json", text.encode()
    expected = parse_document(content, "a.yaml")
    for _ in range(2):
        memo = Memo(file)
        found = memo.parse(content, "a.yaml")
        memo.save()
        assert (found.data, dict(found.lines), found.faults) == (expected.data, dict(expected.lines), expected.faults)


def test_a_scan_of_some_kinds_agrees_with_a_whole_one_forgets_nothing_and_trusts_no_gate(
    bench: Bench, reader: Reader, file: Path
) -> None:
    bench.edit(TOPIC_FILE, "partitions: 2", "partitions: 2\ndeployments: {prod: {partitions: 3}}")
    bench.write("include/pipelines/large.yaml", LARGE)
    bench.write("spark_jobs/transforms/large.py", "def large(orders):\n    return orders.select('id')\n")
    whole = reader.scan()
    assert not whole.faults
    bench.edit(PIPELINE_FILE, "future_skew: 5 min", "future_skew: 6 min")
    memo = Memo(file)
    part = scan(bench.home / "include", parse=memo.parse, kinds=(Kind.TOPIC, Kind.PIPELINE))
    memo.save(whole=False)
    again = reader.scan()
    assert reader.parsed == []
    assert (part.catalog.topics, part.catalog.pipelines) == (again.catalog.topics, again.catalog.pipelines)
    assert part.catalog.pipelines != whole.catalog.pipelines
    assert not part.faults
    with pytest.raises(SpecError, match="no sound suite, and include/expectations"):
        part.catalog.suite_of(next(iter(part.catalog.pipelines)))
