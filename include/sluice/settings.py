"""Where things are on this machine: the only module that reads the environment.

Three layers never mix: specs say what, settings say where, Airflow connections and mounted files hold secrets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from sluice.errors import NotConfiguredError
from sluice.secrecy.secret_values import SecretSource, how_to_give, is_given, read_secret, secret_source
from sluice.specs.deployments.folder_names import folder_fault
from sluice.specs.deployments.masters import master_fault
from sluice.specs.deployments.secrecy import connection_variable
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder

PACKAGE = Path(__file__).resolve().parent
"""The installed package. It also carries the lock of the jars, the Java sources and the templates of a project."""


def find_project(start: Path) -> Path | None:
    """Return the nearest folder with `dags/` and `include/`, from `start` upwards; None if there is none."""
    folders = (start, *start.parents)
    return next((folder for folder in folders if (folder / "dags").is_dir() and (folder / "include").is_dir()), None)


def _default_home() -> Path:
    """Return the project around the current folder, else the one around the virtual environment, else this folder."""
    here = Path.cwd()
    return find_project(here) or find_project(Path(sys.prefix)) or here


class Settings(BaseSettings):
    """Read once from `SLUICE_*` variables.

    Attributes:
        home: the project: `dags/`, `include/`, `spark_jobs/` are below it. Omitted: the one around the current folder,
            else the one around the virtual environment.
        state: the state folder; two stacks on one machine differ in it and share nothing.
        deployment: the name of a file in `include/deployments/`.
        jars: folder with `spark/` and `kafka/`, filled by `make setup`; part of the installation, not of the state.
        failpoint: see `sluice.failpoints`; empty outside tests.
        control_url: SQLAlchemy URL of the control database, if the variable holds it; see `control_url`.
        spark_master: where drivers and batches find their cores, spelt as in a deployment; empty: where that says.
        batch_niceness: how far a batch gives way to what else runs on its machine, streams above all; 0: not at all.
        driver: what the launcher keeps of this driver is in this folder; None in every other process.
        lineage_seconds: how often lineage is told that a stream goes on, where it is told at all.
    """

    model_config = SettingsConfigDict(env_prefix="SLUICE_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=_default_home)
    state: Path = Path()
    deployment: str = "local"
    jars: Path = Field(default_factory=lambda: Path(sys.prefix) / "share" / "sluice" / "jars")
    failpoint: str = ""
    control_url: str = ""
    spark_master: str = ""
    batch_niceness: int = Field(default=10, ge=0, le=19)
    driver: Path | None = None
    lineage_seconds: float = Field(default=60, ge=1)

    def model_post_init(self, _context: object, /) -> None:
        """Resolve paths against the project, not against the caller's folder."""
        state = self.home / ".sluice" if self.state == Path() else self.state
        object.__setattr__(self, "home", self.home.resolve())
        object.__setattr__(self, "state", (self.home / state).resolve())
        self._refuse_unusable_folders()
        if fault := master_fault(self.spark_master) if self.spark_master else "":
            raise NotConfiguredError(f"SLUICE_SPARK_MASTER cannot be used: {fault}.")

    def _refuse_unusable_folders(self) -> None:
        """Make sure, before anything is made, that all programs find these folders by their names.

        Raises:
            NotConfiguredError: one of them does not.
        """
        folders = (
            ("project folder", self.home, "move the project to another folder."),
            ("state folder", self.state, "name another one with SLUICE_STATE."),
            ("folder of jars", self.jars, "name another one with SLUICE_JARS, or move the project."),
        )
        for name, folder, fix in folders:
            if fault := folder_fault(str(folder)) or _not_in_utf8(folder):
                raise NotConfiguredError(f"the {name} {str(folder)!r} cannot be used: {fault}.", fix=fix)

    @property
    def folder(self) -> StateFolder:
        """The names of things below the state folder."""
        return StateFolder(self.state)


def _not_in_utf8(folder: Path) -> str:
    """Return why the bytes of a name are not what other programs look for; empty if they are."""
    if os.fsencode(folder) == str(folder).encode():
        return ""
    return f"this process reads names in {sys.getfilesystemencoding()}, and Java in UTF-8; set LC_ALL=C.UTF-8"


class StateFolder:
    """Names below the state folder, in one place. Nothing here creates a file.

    `storage` is where a deployment keeps tables and checkpoints, and what executors and a driver hand each other;
    without one that is in the state folder too. In a bucket are no checkpoints: they are of this machine, and can be
    made again.
    """

    def __init__(self, root: Path, storage: Folder | None = None) -> None:
        storage = storage or root
        local = root if isinstance(storage, BucketFolder) else storage
        self.root = root
        self.demo = root / "demo.json"
        self.stack = root / "stack.json"
        self.control = root / "control.db"
        self.logs = root / "logs"
        self.kafka = root / "kafka"
        self.airflow = root / "airflow"
        self.supervisor = root / "supervisor"
        self.drivers = root / "drivers"
        self.engines = root / "engines"
        self.code = root / "code"
        self.feeds = root / "feeds"
        self.known_suites = root / "known_suites"
        self.spec_memo = root / "spec_memo.json"
        self.tables: Folder = storage / "tables"
        self.checkpoints = local / "checkpoints"
        self.staging: Folder = storage / "staging"
        self.static: Folder = storage / "static"
        self.carried: Folder = storage / "carried"
        self.desired: Folder = storage / "desired"
        self._epochs = storage / "epochs" if isinstance(storage, BucketFolder) else None
        self.progress = root / "progress"
        self.backfills = root / "backfills"
        self.rehearsals = root / "rehearsals"
        self.proofs = root / "proofs"
        self.alerts = root / "alerts"
        self.audit = root / "audit"
        self.spark = root / "spark"
        self.mirrors = root / "mirrors"

    def table(self, name: str) -> Folder:
        """Return the folder of a Delta table."""
        return self.tables / name

    def checkpoint(self, stream: str) -> Path:
        """Return the checkpoint folder of a stream."""
        return self.checkpoints / stream

    def epoch_records(self, stream: str) -> Folder:
        """Return the folder with the records of a stream's epochs: beside its checkpoint, or in the bucket."""
        return self.checkpoints / f"{stream}.epochs" if self._epochs is None else self._epochs / stream

    def backfill(self, backfill_id: str) -> Path:
        """Return the folder with a backfill's reports and the lock that its process holds."""
        return self.backfills / backfill_id

    def quality(self, pipeline: str) -> Path:
        """Return the newest result of a pipeline's expectations on its published table."""
        return self.root / "quality" / pipeline / "latest.json"

    def mirror(self, name: str) -> Path:
        """Return the folder with what the process of a mirror reads, and the reports of its fail-overs."""
        return self.mirrors / name

    def unit_file(self, unit: str) -> Path:
        """Return the file in which a driver says which executors it has."""
        return self.progress / f"{unit}.unit.json"

    def progress_file(self, stream: str) -> Path:
        """Return the file that a driver rewrites after every micro-batch of a stream."""
        return self.progress / f"{stream}.json"

    def settling_file(self, stream: str) -> Path:
        """Return the file in which the driver of a settled table says how far it is, and what it waits for."""
        return self.progress / f"{stream}.settling.json"

    def batch_log(self, stream: str) -> Path:
        """Return the file to which a driver adds every micro-batch of a stream."""
        return self.progress / f"{stream}.batches.jsonl"


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return the settings of this process."""
    return Settings()


EVERY_PROCESS = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
        *("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_ARENA_MAX"),
        *("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "KRB5_CONFIG"),
        *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "SPARK_PUBLIC_DNS"),
        *("SPARK_LOCAL_DIRS", "HADOOP_CONF_DIR", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"),
    }
)
"""What every process that we start has of the environment of whoever starts it, beside `LC_…`: where programs and
their parts are, and how time and text are written. Proxies are not among them: their addresses may hold a password."""

_EVERY_PROCESS_BEGINNINGS = ("LC_",)
LOCALE = {"LC_ALL": "C.UTF-8"}
"""Java names files in the locale's encoding: in that of `LANG=C`, or of a locale that is not installed, every letter
beyond ASCII becomes a question mark. This locale is a part of glibc."""
_MARKS = ("SLUICE_STACK", "SLUICE_DRIVER")
"""They say whose process this one is; what it starts gets marks of its own."""


def inherited(names: Collection[str] = (), beginnings: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what a process that we start inherits of our environment: what every process needs, and what is named.

    The locale is always `LOCALE`. Everything else stays here: passwords of others, the control database, Airflow's keys
    and connections.

    Args:
        names: of variables beside `EVERY_PROCESS`.
        beginnings: how names begin that are inherited too.
    """
    begin = (*_EVERY_PROCESS_BEGINNINGS, *beginnings)
    found = {
        name: value
        for name, value in os.environ.items()  # noqa: TID251 - here
        if name not in _MARKS and (name in EVERY_PROCESS or name in names or name.startswith(begin))
    }
    return {**found, **LOCALE}


def connection_url(
    name: str,
    *,
    owner: str = "an output or a static input",
    form: str = "postgresql+psycopg://user:password@host/database",
) -> str:
    """Return the URL of a connection that a spec names: it holds a password, so it is in no spec.

    Args:
        name: of the connection.
        owner: what needs it, in words.
        form: what its URL looks like.

    Raises:
        NotConfiguredError: this process has it in none of its forms, or its file or command yields none.
    """
    variable = connection_variable(name)
    if not (url := _secret(variable)):
        raise NotConfiguredError(
            f"{owner} needs the connection {name!r}, and {variable} is not set here.",
            fix=f"{how_to_give(variable, form)}.",
        )
    return url


CONTROL_URL = "SLUICE_CONTROL_URL"


def control_url(config: Settings) -> str:
    """Return the SQLAlchemy URL of the control database; empty: SQLite in the state folder.

    Raises:
        NotConfiguredError: its file or its command yields none.
    """
    if config.control_url and config.control_url != os.environ.get(CONTROL_URL):  # noqa: TID251 - here
        return config.control_url  # given in code
    return _secret(CONTROL_URL) or ""


def registry_login() -> str:
    """Return the login of a schema registry, as `user:password`; empty for none.

    Raises:
        NotConfiguredError: its file or its command yields none.
    """
    return _secret("SLUICE_REGISTRY_LOGIN") or ""


def is_set(variable: str) -> bool:
    """Whether a secret is given: by its variable, a file or a command. Nothing is read."""
    return is_given(variable, os.environ)  # noqa: TID251 - here


def password(variable: str) -> str:
    """Return a password that a spec names by its variable.

    Raises:
        NotConfiguredError: this process has it in none of its forms, or what is there can hardly be meant.
    """
    found = _secret(variable)
    if not found:
        raise NotConfiguredError(f"{variable} is not set here.", fix=f"{how_to_give(variable, 'the password')}.")
    if found != found.strip():
        raise NotConfiguredError(
            f"the password in {variable} begins or ends with a blank or a line break.", fix="set it without."
        )
    return found


def password_source(variable: str) -> SecretSource | None:
    """Return where a password is read, so that it can be again; None if the variable itself holds it.

    Raises:
        NotConfiguredError: this process has it in two forms.
    """
    return secret_source(variable, os.environ)  # noqa: TID251 - here


def _secret(variable: str) -> str | None:
    """Return a secret as it is now, or None if it is not given; see `sluice.secrecy.secret_values`."""
    return read_secret(variable, os.environ)  # noqa: TID251 - here


def bucket_endpoint() -> str:
    """Return the address of the service that has the buckets; empty for that of AWS."""
    return os.environ.get("AWS_ENDPOINT_URL", "")  # noqa: TID251 - here


def bucket_region() -> str:
    """Return the region of the buckets; empty if nothing says it."""
    return os.environ.get("AWS_REGION", "") or os.environ.get("AWS_DEFAULT_REGION", "")  # noqa: TID251 - here


def environment() -> dict[str, str]:
    """Return all variables of this process, to find out what must not be told; see `sluice.alerts.redaction`."""
    return dict(os.environ)  # noqa: TID251 - here


_LINEAGE_FILE = "openlineage.yml"
LINEAGE = "OPENLINEAGE_"
"""Begins the names of the variables of OpenLineage's client."""


def lineage_variables() -> frozenset[str]:
    """Return the names of the variables by which OpenLineage's client is told where to send; they may hold a key."""
    return frozenset(name for name in os.environ if name.startswith(LINEAGE))  # noqa: TID251 - here


def lineage_configured() -> bool:
    """Whether somebody has said where lineage is to be sent, in one of the ways of OpenLineage's client."""
    said = {name for name, value in os.environ.items() if value and name.startswith("OPENLINEAGE_")}  # noqa: TID251 - here
    if os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":  # noqa: TID251 - here
        return False
    if said & {"OPENLINEAGE_URL", "OPENLINEAGE_CONFIG"} or any("__TRANSPORT" in name for name in said):
        return True
    of_user = Path(os.path.expanduser("~/.openlineage"), _LINEAGE_FILE)  # noqa: PTH111 - without a home it raises nothing
    return lineage_file() is not None or of_user.is_file()


def lineage_file() -> Path | None:
    """Return the project's `openlineage.yml`; None if there is none. What the client finds by itself is not it."""
    file = settings().home / _LINEAGE_FILE
    return file if file.is_file() else None


def lineage_namespace() -> str:
    """Return the namespace that is set for the jobs of everybody who sends lineage; empty if none is."""
    return os.environ.get("OPENLINEAGE_NAMESPACE", "")  # noqa: TID251 - here
