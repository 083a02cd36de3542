"""What a deployment says of where things are."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.folder_names import folder_fault
from tests.unit.specs.bench import DEPLOYMENT, DEPLOYMENT_FILE, Bench


def storage_of(text: str) -> str | None:
    spec = {"name": "prod", "kafka": {"kind": "embedded"}, "storage": text}
    return DeploymentSpec.model_validate(spec).storage


@pytest.mark.parametrize(
    "address", ["s3a://bucket/sluice", "gs://b", "abfs://c@a.dfs.core.windows.net/x", "hdfs://n:9000/x"]
)
def test_storage_that_is_no_folder_is_refused_at_its_line_and_by_name(bench: Bench, address: str) -> None:
    bench.write(DEPLOYMENT_FILE, f"{DEPLOYMENT}storage: {address}\n")
    found = bench.scan()
    (fault,) = found.faults
    assert (fault.file, fault.line, fault.where) == (DEPLOYMENT_FILE, 7, "storage")
    assert fault.message == (
        f"found {address!r}, and tables and checkpoints can only be in a folder so far, not at an address "
        f"({address.partition(':')[0]}); mount it, and name the folder where it is mounted."
    )
    assert found.catalog.deployments == {}, "nobody may take it for a folder"


def test_the_address_of_a_folder_is_refused_with_its_path() -> None:
    with pytest.raises(ValidationError, match="write '/mnt/sluice'"):
        storage_of("file:///mnt/sluice")


@pytest.mark.parametrize("text", ["", "data", "./data", "~/data", "C:\\data"])
def test_storage_that_depends_on_where_a_process_is_started_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="absolute folder, such as /mnt/sluice"):
        storage_of(text)


@given(st.text(min_size=1).map(lambda text: f"/{text}"))
def test_every_absolute_folder_with_a_usable_name_is_taken_as_it_is_written(folder: str) -> None:
    assume(not folder_fault(folder))
    assert storage_of(folder) == folder


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9+.-]{0,9}://?[^\n]*", fullmatch=True))
def test_no_address_is_ever_taken_for_a_folder(address: str) -> None:
    with pytest.raises(ValidationError, match="not at an address"):
        storage_of(address)
