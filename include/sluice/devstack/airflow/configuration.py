"""Airflow's configuration in the embedded stack: one `airflow.cfg` in the state folder, made again at every start.

A file and not a set of variables, so that the secrets in it (mode 0600) are in no process's environment and
`AIRFLOW_HOME=.sluice/airflow airflow …` works by hand.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sluice.devstack.kafka.admin import authority_file, brokers_file
from sluice.errors import CorruptionError
from sluice.launch.ports import HOST
from sluice.launch.private import write_private
from sluice.launch.processes import STACK_MARK, carrying
from sluice.settings import LINEAGE, Settings, inherited
from sluice.specs.catalog.variables import CLIENT_OF_POSTGRESQL, declared
from sluice.specs.deployments.bucket_address import variables_of_bucket
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.load import scan

COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "api-server": ("api-server",),
    # Task logs lie on this machine's disk, where the UI reads them: the log servers would cost 130 MB each.
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}
"""Airflow's processes and their arguments."""

_PARALLELISM = 4
"""Processes that run tasks, forked at once: 32 by default, on a machine that has cores for two."""

_NETWORK = (
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""How alerts and lineage reach other machines."""

_REFRESH_SECONDS = 5
"""Between two checks of the DAG processor of what its files read."""

BATCH_POOL = "spark_batch"
"""Airflow's pool of the tasks that start Spark."""
BATCH_SLOTS = 1
"""Less than the parallelism, so that a stream's watch finds a worker; and each is a JVM that wants all cores."""


def airflow_command(*arguments: str) -> tuple[str, ...]:
    """Return the command of Airflow's command line in this installation."""
    return (sys.executable, "-m", "airflow", *arguments)


USER = "admin"
"""The one user of an Airflow that requires a login."""


def airflow_url(port: int, *, secured: bool = False) -> str:
    """Return where the API server answers."""
    return f"{'https' if secured else 'http'}://{HOST}:{port}"


def password_file(settings: Settings) -> Path:
    """Return where the user's password is, as Airflow reads it: JSON, the password by the user."""
    return settings.folder.airflow / "passwords.json"


def stack_environment(settings: Settings, spark_master: str = "") -> dict[str, str]:
    """Return the environment of Airflow's processes in the stack, which start drivers and batches and notify people.

    They get what every process needs, the way to other machines, all that is Sluice's and OpenLineage's, what the specs
    name for drivers and batches, and the stack's mark.
    """
    specs = scan(settings.home / "include").catalog
    deployment = specs.deployments.get(settings.deployment)
    bucket = variables_of_bucket(deployment.storage if deployment else None)
    variables = inherited(
        declared(specs.pipelines.values()).union(_NETWORK, CLIENT_OF_POSTGRESQL, bucket), ("SLUICE_", LINEAGE)
    )
    return {
        **variables,
        "PATH": _path(variables),
        "AIRFLOW_HOME": str(settings.folder.airflow),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
            {
                "conn_type": "spark",
                "host": spark_master or _spark_master(deployment),
                "extra": {"deploy-mode": "client"},
            }
        ),
        "SLUICE_HOME": str(settings.home),
        "SLUICE_STATE": str(settings.state),
        "SLUICE_DEPLOYMENT": settings.deployment,
        "SLUICE_JARS": str(settings.jars),
        **carrying(STACK_MARK, str(settings.state)),
    }


def engine_environment(settings: Settings) -> dict[str, str]:
    """Return the environment of brokers, and of a Spark cluster's master and workers: no password is in it."""
    variables = inherited()
    return {**variables, "PATH": _path(variables), **carrying(STACK_MARK, str(settings.state))}


def narrowed(command: Sequence[str], whole: Collection[str], kept: Collection[str]) -> tuple[str, ...]:
    """Return a command that keeps only some variables of the whole environment that it is given."""
    return ("env", *(part for name in sorted(set(whole).difference(kept)) for part in ("-u", name)), *command)


def _path(variables: Mapping[str, str]) -> str:
    bin_folders = [str(Path(sys.executable).parent)]  # spark-submit looks for python3 on PATH
    if home := variables.get("JAVA_HOME"):
        bin_folders.append(f"{home}/bin")  # Kafka takes java from PATH, Spark from JAVA_HOME: let it be the same one
    return os.pathsep.join([*bin_folders, variables.get("PATH", os.defpath)])


def _spark_master(deployment: DeploymentSpec | None) -> str:
    """Return the deployment's master, as spark-submit wants it."""
    master = "local" if deployment is None else deployment.spark.master
    return f"local[{os.cpu_count() or 1}]" if master == "local" else master


def write_configuration(settings: Settings, port: int, *, secured: bool = False) -> None:
    """Write `airflow.cfg` and, the first time, the secrets in it.

    Args:
        settings: where things are.
        port: of the API server.
        secured: whether it requires a login, and encrypts with the certificate of the brokers.
    """
    folder = settings.folder.airflow
    folder.mkdir(parents=True, exist_ok=True)
    options = _options(settings, airflow_url(port, secured=secured), _secrets(folder / "secrets.json"))
    options["api"]["port"] = port
    if secured:
        _secure(settings, options)
    sections = (
        f"[{section}]\n" + "".join(f"{name} = {value}\n".replace("%", "%%") for name, value in values.items())
        for section, values in options.items()
    )
    write_private(folder / "airflow.cfg", "\n".join(sections))


def _secure(settings: Settings, options: Mapping[str, dict[str, object]]) -> None:
    if not (passwords := password_file(settings)).exists():
        write_private(passwords, json.dumps({USER: secrets.token_urlsafe(32)}))
    shown, kafka = brokers_file(settings.folder.kafka), settings.folder.kafka
    options["core"] |= {
        "simple_auth_manager_all_admins": False,
        "simple_auth_manager_users": f"{USER}:admin",
        "simple_auth_manager_passwords_file": passwords,
    }
    options["api"] |= {"ssl_cert": shown, "ssl_key": shown, "ssl_ca_file": authority_file(kafka)}


def _options(settings: Settings, url: str, secret: Mapping[str, str]) -> dict[str, dict[str, object]]:
    return {
        "core": {
            "dags_folder": settings.home / "dags",
            "plugins_folder": settings.home / "plugins",
            "executor": "LocalExecutor",
            "parallelism": _PARALLELISM,
            "load_examples": False,
            "dags_are_paused_at_creation": False,
            # No login: every user of this machine is the administrator. Bound to loopback, see `api.host`.
            "simple_auth_manager_all_admins": True,
            "execution_api_server_url": f"{url}/execution/",  # has a default of its own, with port 8080 in it
            "fernet_key": secret["fernet_key"],
        },
        "database": {"sql_alchemy_conn": f"sqlite:///{settings.folder.airflow / 'airflow.db'}"},
        "api": {
            "host": HOST,
            "base_url": url,
            "workers": 1,
            "secret_key": secret["secret_key"],
        },
        "api_auth": {"jwt_secret": secret["jwt_secret"]},
        "logging": {
            "base_log_folder": settings.folder.logs / "tasks",
            "dag_processor_child_process_log_directory": settings.folder.logs / "parsing",
        },
        # A finished task's supervisor lingers for this long; a trigger that fires meanwhile fails its task.
        # A server that comes up on a busy machine answers a task's first question late. By default it is given up after
        # 5 s, and asked again what it has granted already, which fails the task.
        "workers": {"min_heartbeat_interval": 1, "execution_api_timeout": 60},
        "dag_processor": _parsing(),
        # At rest a round finds nothing and costs as much as any other; while there is work it does not sleep at all.
        "scheduler": {"scheduler_idle_sleep_time": 2, "parsing_cleanup_interval": 30},
        "usage_data_collection": {"enabled": False},
    }


def _parsing() -> dict[str, object]:
    """Have files parsed when something that they read has changed, see `sluice.airflow.bundle`."""
    bundle = {"name": "dags-folder", "classpath": "sluice.airflow.bundle.SpecsBundle", "kwargs": {}}
    return {
        "dag_bundle_config_list": json.dumps([bundle]),
        "refresh_interval": _REFRESH_SECONDS - 1,  # counted from the last check's time of day, which is not exact
        "bundle_refresh_check_interval": _REFRESH_SECONDS,
        "min_file_process_interval": 3600,  # the bundle asks for them long before
        "parsing_processes": 2,  # they are there while something is parsed
    }


def _secrets(path: Path) -> dict[str, str]:
    """Return the secrets of this state folder; drawn once, so that sessions and stored values outlive a restart."""
    if not path.exists():
        drawn = {
            "fernet_key": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "jwt_secret": secrets.token_hex(64),
            "secret_key": secrets.token_hex(32),
        }
        write_private(path, json.dumps(drawn))
    try:
        kept: dict[str, str] = json.loads(path.read_bytes())
    except ValueError as error:
        raise CorruptionError(f"{path} holds no secrets: {error}.", fix="remove it; new ones are drawn.") from error
    return kept
