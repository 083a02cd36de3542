"""What a deployment says of where things are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.errors import NotConfiguredError
from sluice.settings import Settings, StateFolder
from sluice.specs.catalog.variables import variables_of_batch, variables_of_unit
from sluice.specs.deployments.bucket_address import BUCKET_VARIABLES
from sluice.specs.deployments.deployment import DeploymentSpec, SparkPlace
from sluice.specs.deployments.folder_names import folder_fault
from sluice.specs.deployments.masters import master_fault
from sluice.storage.folder import folder_at
from tests.unit.specs.bench import DEPLOYMENT, DEPLOYMENT_FILE, Bench


def storage_of(text: str) -> str | None:
    spec = {"name": "prod", "kafka": {"kind": "embedded"}, "storage": text}
    return DeploymentSpec.model_validate(spec).storage


@pytest.mark.parametrize("address", ["gs://b", "abfs://c@a.dfs.core.windows.net/x", "hdfs://n:9000/x"])
def test_storage_that_is_no_folder_is_refused_at_its_line_and_by_name(bench: Bench, address: str) -> None:
    bench.write(DEPLOYMENT_FILE, f"{DEPLOYMENT}storage: {address}\n")
    found = bench.scan()
    (fault,) = found.faults
    assert (fault.file, fault.line, fault.where) == (DEPLOYMENT_FILE, 7, "storage")
    assert fault.message == (
        f"found {address!r}, and tables can only be in a folder or a bucket (s3) so far, not at an address of "
        f"{address.partition(':')[0]}; mount it, and name the folder where it is mounted."
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
def test_no_other_address_is_ever_taken_for_a_folder(address: str) -> None:
    assume(not address.startswith("s3://"))
    with pytest.raises(ValidationError, match="not at an address"):
        storage_of(address)


@pytest.mark.parametrize("address", ["s3://bucket/sluice", "s3://my.bucket-1/of us/année=1"])
def test_a_bucket_with_a_prefix_is_taken(address: str) -> None:
    assert storage_of(address) == address
    folder = StateFolder(Path("/state"), folder_at(address))
    assert str(folder.table("flights")) == f"{address}/tables/flights"
    assert str(folder.epoch_records("flights")) == f"{address}/epochs/flights"
    assert folder.checkpoint("flights") == Path("/state/checkpoints/flights")
    assert str(folder.staging) == f"{address}/staging"


def test_without_a_bucket_everything_is_where_it_was() -> None:
    folder = StateFolder(Path("/state"), folder_at("/mnt/sluice"))
    assert [folder.table("t"), folder.checkpoint("t"), folder.epoch_records("t"), folder.staging, folder.static] == [
        Path("/mnt/sluice/tables/t"),
        Path("/mnt/sluice/checkpoints/t"),
        Path("/mnt/sluice/checkpoints/t.epochs"),
        Path("/mnt/sluice/staging"),
        Path("/mnt/sluice/static"),
    ]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://bucket", "it has no prefix"),
        ("s3://bucket/", "it has no prefix"),
        ("s3://bucket/a/", "an empty part in it"),
        ("s3://bucket//a", "an empty part in it"),
        ("s3://Bucket/a", "'Bucket' is no name of a bucket"),
        ("s3:///a", "'' is no name of a bucket"),
        ("s3://bucket/a%20b", "'%20' in it is one character in an address"),
        ("s3://bucket/a*", "is part of a pattern to Spark"),
        ("s3a://bucket/a", "write 's3://bucket/a'"),
        ("s3:/bucket/a", "write 's3://bucket/a'"),
    ],
)
def test_a_bucket_that_cannot_be_used_is_refused_with_what_to_write(address: str, said: str) -> None:
    with pytest.raises(ValidationError) as error:
        storage_of(address)
    assert said in str(error.value)


def test_a_cluster_may_have_its_tables_in_a_bucket() -> None:
    spark = {"master": "spark://a:7077"}
    spec = {"name": "x", "kafka": {"kind": "embedded"}, "storage": "s3://bucket/a", "spark": spark}
    assert DeploymentSpec.model_validate(spec).storage == "s3://bucket/a"


def test_credentials_go_to_drivers_and_batches_of_a_bucket_only(bench: Bench) -> None:
    for storage, passed in (("", False), ("storage: s3://bucket/sluice\n", True)):
        bench.write(DEPLOYMENT_FILE, f"{DEPLOYMENT}{storage}")
        catalog = bench.scan().catalog
        (deployment,) = catalog.deployments.values()
        of_unit = variables_of_unit(catalog, deployment, next(iter(catalog.units().values())))
        of_batch = variables_of_batch(catalog, deployment, next(iter(catalog.pipelines.values())))
        assert [each.names >= BUCKET_VARIABLES for each in (of_unit, of_batch)] == [passed, passed]
        assert "AWS_SECRET_ACCESS_KEY" not in of_unit.needed


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "spark://a-1.b:7077", "spark://a:7077,b:7078"])
def test_a_master_is_this_machine_or_a_standalone_one(master: str) -> None:
    assert SparkPlace(master=master).master == master


@pytest.mark.parametrize(
    ("master", "message"),
    [
        ("yarn", "would wait there and seem to work; write `local`, or a standalone master: `spark://host:7077`"),
        ("YARN", "drivers are not run on YARN"),
        ("yarn-client", "drivers are not run on YARN"),
        ("k8s://https://cluster:6443", "drivers are not run on Kubernetes so far"),
        ("mesos://host:5050", "not run on Mesos, which Spark itself has given up since version 4; write `local`"),
        ("mesos://zk://a:2181,b:2181/mesos", "drivers are not run on Mesos"),
        ("spark://a:7077,a:7077,b:7077", "'a:7077' in it twice"),
        ("spark://a:7077,b:70777", "'b:70777', whose port is none"),
        ("spark://a:7077,spark://b:7077", "is no master"),
        ("spark://host", "is no master"),
        ("spark://host:7077,", "is no master"),
        ("local[0]", "is no master"),
        ("http://host:8080", "is no master"),
        ("", "is no master"),
    ],
)
def test_what_is_not_tried_is_refused_by_name(master: str, message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        SparkPlace(master=master)
    assert message in str(refused.value)


def test_a_page_is_an_address() -> None:
    assert SparkPlace(page="http://master:8080/").page == "http://master:8080/"
    with pytest.raises(ValidationError, match="such as http://spark-master:8080"):
        SparkPlace(page="master:8080")


def test_each_of_several_masters_may_have_a_page() -> None:
    pages = ("http://a:8080", "http://b:18080")
    assert SparkPlace(master="spark://a:7077,b:7077", page=pages).pages == pages
    assert (SparkPlace(page=pages[0]).pages, SparkPlace().pages) == (pages[:1], ())
    with pytest.raises(ValidationError, match="found 'b:8080'; write its address"):
        SparkPlace(page=("http://a:8080", "b:8080"))
    with pytest.raises(ValidationError, match="it is empty; name the page of each master"):
        SparkPlace(page=())


def test_files_of_a_page_belong_to_pages_that_encrypt() -> None:
    files = {"ca": "/etc/ca.pem", "certificate": "/etc/own.pem"}
    for page in ("https://m:8480", ("https://a:8480", "https://b:8480")):
        assert SparkPlace(page=page, tls=files).tls.certificate == "/etc/own.pem"
    for page in (None, "http://m:8080", ("https://a:8480", "http://b:8080")):
        with pytest.raises(ValidationError, match="`page` has to name the page of each master at https://"):
            SparkPlace(page=page, tls=files)
    with pytest.raises(ValidationError, match="a key is of no use without its certificate"):
        SparkPlace(page="https://m:8480", tls={"key": "/etc/own.key"})
    with pytest.raises(ValidationError, match="write the absolute path"):
        SparkPlace(page="https://m:8480", tls={"ca": "ca.pem"})


@pytest.mark.parametrize(
    "master", ["yarn", "mesos://host:5050", "spark://a", "local-cluster[2,1,1024]", "http://a:8080"]
)
def test_settings_refuse_a_master_as_a_deployment_does(monkeypatch: pytest.MonkeyPatch, master: str) -> None:
    monkeypatch.setenv("SLUICE_SPARK_MASTER", master)
    with pytest.raises(NotConfiguredError) as refused:
        Settings()
    assert refused.value.message == f"SLUICE_SPARK_MASTER cannot be used: {master_fault(master)}."
    monkeypatch.setenv("SLUICE_SPARK_MASTER", "spark://a:7077,b:7077")
    assert Settings().spark_master == "spark://a:7077,b:7077"
