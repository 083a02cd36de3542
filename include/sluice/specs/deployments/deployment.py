"""A deployment: where Kafka, Spark and storage are."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from sluice.specs.deployments.bucket_address import bucket_fault, is_bucket
from sluice.specs.deployments.folder_names import folder_fault
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka, PemFile
from sluice.specs.deployments.masters import master_fault
from sluice.specs.deployments.prices import Prices
from sluice.specs.model.duration import Duration
from sluice.specs.model.resources import Memory
from sluice.specs.model.spec import Name, Spec

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/(.*)", re.DOTALL)
_PAGE = re.compile(r"https?://[^\s/]+(/\S*)?")


class EngineSpec(Spec):
    """A Spark session that stays up between small batches: none of them waits for a JVM to start."""

    records: int = Field(default=500_000, ge=0)
    """A batch runs in it if the files that it reads hold no more records than this; 0: there is none."""
    idle: Duration = timedelta(minutes=10)
    """It ends when no batch has run in it for so long."""
    memory: Memory = "1g"
    """Its Java heap, which up to four batches share."""


def _form(page: object) -> str:
    return "list" if isinstance(page, list | tuple) else "text"


Pages = Annotated[
    Annotated[str, Tag("text")] | Annotated[tuple[str, ...], Tag("list")],
    Discriminator(_form),
]
"""The address of one page, or a list of several."""


class PageTls(Spec):
    """How the page of a master is asked that encrypts."""

    ca: PemFile | None = None
    """The certificates of the authorities that sign the page's; omitted: those that the machine trusts."""
    certificate: PemFile | None = None
    """What a process shows where the page asks who comes; its private key may be in the same file."""
    key: PemFile | None = None
    """Its private key, not encrypted; omitted: in the same file as the certificate."""

    @field_validator("key")
    @classmethod
    def _belongs_to_a_certificate(cls, key: str | None, info: ValidationInfo) -> str | None:
        if key is not None and info.data.get("certificate") is None:
            raise ValueError("a key is of no use without its certificate; name it by `certificate`")
        return key


class SparkPlace(Spec):
    """Where drivers find their cores."""

    master: str = "local"
    """`local`: as many local cores as the pipeline's resources say, or those of the cluster that `sluice up
    --spark-workers` has started; else `spark://host:7077`, with `,host:7077` for each master that stands by."""
    page: Pages | None = None
    """Address of the master's page, where it says which cores are free, or those of all masters; omitted: port 8080 of
    each master's host."""
    tls: PageTls | None = Field(default=None)
    """By which files pages at `https:` are known, and asked."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Spark settings of all drivers and batches here; those of a pipeline win over them."""
    engine: EngineSpec = EngineSpec()

    @field_validator("master")
    @classmethod
    def _is_tried(cls, master: str) -> str:
        if fault := master_fault(master):
            raise ValueError(fault)
        return master

    @field_validator("page")
    @classmethod
    def _is_a_page(cls, page: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        pages = (page,) if isinstance(page, str) else page
        if pages == ():
            raise ValueError("it is empty; name the page of each master, or remove the key")
        for each in pages or ():
            if not _PAGE.fullmatch(each):
                raise ValueError(f"found {each!r}; write its address, such as http://spark-master:8080")
        return page

    @field_validator("tls")
    @classmethod
    def _is_of_encrypted_pages(cls, tls: PageTls | None, info: ValidationInfo) -> PageTls | None:
        page = info.data.get("page")
        pages = (page,) if isinstance(page, str) else page or ()
        if tls is not None and not (pages and all(each.startswith("https:") for each in pages)):
            raise ValueError("`page` has to name the page of each master at https://…, which these files are for")
        return tls

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages that it names; empty if it names none."""
        return (self.page,) if isinstance(self.page, str) else self.page or ()


def _instead(scheme: str, local: str, storage: str) -> str:
    """Return what to write instead of an address that is none of a bucket."""
    if scheme == "file":
        return f"write {local!r}"
    if scheme.lower() in {"s3", "s3a", "s3n"}:
        return f"write 's3://{storage.partition(':')[2].lstrip('/')}'"
    return "mount it, and name the folder where it is mounted"


class DeploymentSpec(Spec):
    """`include/deployments/<name>.yaml`: where things are. Specs of other kinds do not change between deployments."""

    name: Name
    description: str = ""
    kafka: Annotated[EmbeddedKafka | ExternalKafka, Field(discriminator="kind")]
    spark: SparkPlace = SparkPlace()
    replication: int = Field(default=1, ge=1, le=32)
    """Replicas of a topic that does not say."""
    failure_domains: tuple[Name, ...] = ("rack",)
    """What the parts of `broker.rack` are, from left to right, with `/` between them: `[fault, update]` of 0/3."""
    topology: str | None = None
    """A file below `include/` that says it instead of the racks, as `sluice topics place` reads it."""
    storage: str | None = None
    """Absolute folder for tables and checkpoints, or `s3://bucket/prefix` for all but checkpoints; omitted: the state
    folder."""

    prices: Prices | None = None
    """What cores, memory and disks cost here, for `sluice capacity`."""

    @field_validator("storage")
    @classmethod
    def _is_a_folder(cls, storage: str | None) -> str | None:
        """Refuse what would become a folder of that name below wherever a process happens to be started."""
        if storage is None:
            return None
        if is_bucket(storage):
            if fault := bucket_fault(storage):
                raise ValueError(f"found {storage!r}, and {fault}")
            return storage
        if address := _ADDRESS.fullmatch(storage):
            local = f"/{address[2].lstrip('/')}"
            raise ValueError(
                f"found {storage!r}, and tables can only be in a folder or a bucket (s3) so far, not at an address of "
                f"{address[1]}; {_instead(address[1], local, storage)}"
            )
        if not PurePosixPath(storage).is_absolute():
            raise ValueError(f"found {storage!r}; it must be an absolute folder, such as /mnt/sluice")
        if fault := folder_fault(storage):
            raise ValueError(f"found {storage!r}, and {fault}; name another folder")
        return storage
