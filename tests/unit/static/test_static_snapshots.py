"""What a changing static input held is kept by its digest, and read again at most as often as the spec says."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.errors import CorruptionError, RefusedError
from sluice.specs.model.sources import StaticInput
from sluice.static.places import StaticPlaces
from sluice.static.snapshots import ReloadedInputs
from sluice.storage.folder import Folder
from tests.buckets import BucketServer
from tests.twins.clock import ManualClock
from tests.unit.specs.bench import Bench, sound_project

NORTH = [{"shop": "north", "city": "Oslo"}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sound_project(tmp_path)


def inputs(
    bench: Bench, clock: ManualClock, columns: str = "shop: string, city: string", kept: Folder | None = None
) -> ReloadedInputs:
    names = dict(each.split(": ") for each in columns.split(", "))
    declared = {"path": "static/shops.csv", "reload": "10 min", "columns": names}
    pipeline = bench.scan().catalog.pipelines["sales"]
    changing = pipeline.model_copy(update={"static": {"shops": StaticInput.model_validate(declared)}})
    return ReloadedInputs(changing, StaticPlaces(bench.include, Path), kept or bench.home / "state", clock)


def test_a_new_content_is_seen_when_its_time_has_come_and_the_old_one_stays(bench: Bench) -> None:
    clock = ManualClock()
    shops = inputs(bench, clock)
    before = shops.newest()
    bench.write("include/static/shops.csv", "shop,city\nnorth,Bergen\n")
    clock.sleep(599)
    assert shops.newest() == before
    clock.sleep(1)
    after = shops.newest()
    assert after != before
    assert shops.rows("shops", before["shops"]).to_pylist() == NORTH
    assert shops.rows("shops", after["shops"]).to_pylist() == [{"shop": "north", "city": "Bergen"}]
    assert inputs(bench, clock).newest() == after
    assert len(list((bench.home / "state/sales/shops").iterdir())) == 2  # nothing else is left there


def test_a_snapshot_that_is_gone_damaged_or_of_other_columns_is_refused(bench: Bench) -> None:
    shops = inputs(bench, ManualClock())
    digest = shops.newest()["shops"]
    file = bench.home / f"state/sales/shops/{digest}.parquet"
    with pytest.raises(RefusedError, match="was read for other columns"):
        inputs(bench, ManualClock(), "shop: string, country: string").rows("shops", digest)
    file.write_bytes(b"no parquet")
    with pytest.raises(CorruptionError, match="cannot be read"):
        shops.rows("shops", digest)
    file.unlink()
    with pytest.raises(RefusedError, match=r"is not there any more.*`--static newest`"):
        shops.rows("shops", digest)


def test_snapshots_in_a_bucket_are_the_same_to_another_machine(bench: Bench, store: BucketServer) -> None:
    bucket = store.new_bucket() / "static"
    digest = inputs(bench, ManualClock(), kept=bucket).newest()["shops"]
    bench.write("include/static/shops.csv", "shop,city\nnorth,Bergen\n")
    later = inputs(bench, ManualClock(), kept=bucket)
    assert later.newest()["shops"] != digest
    assert later.rows("shops", digest).to_pylist() == NORTH
    file = bucket / "sales" / "shops" / f"{digest}.parquet"
    file.unlink(missing_ok=True)
    with pytest.raises(RefusedError, match=r"is not there any more: s3://.*`--static newest`"):
        later.rows("shops", digest)
