"""Where a running stack answers: written by `sluice up`, removed by `sluice down`, read by everything else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sluice.errors import CorruptionError, NotReadyError
from sluice.launch.keeper import write_durably
from sluice.settings import StateFolder


@dataclass(frozen=True)
class Endpoints:
    """Addresses of a stack on this machine.

    Attributes:
        kafka_bootstrap: `host:port` of the brokers.
        airflow_url: Airflow's UI and API, without a slash at the end.
        spark_master: where drivers find the embedded Spark cluster; empty if there is none.
        spark_page: the address of its master's page.
        kafka_secured: whether the brokers ask who connects; see `sluice.devstack.kafka.admin`.
    """

    kafka_bootstrap: tuple[str, ...]
    airflow_url: str
    spark_master: str = ""
    spark_page: str = ""
    kafka_secured: bool = False


def read_endpoints(folder: StateFolder) -> Endpoints:
    """Return where the stack of a state folder answers. It may have died since; a client that connects will notice.

    Raises:
        NotReadyError: the stack is not up.
        CorruptionError: the file cannot be understood.
    """
    try:
        record = json.loads(folder.stack.read_bytes())
        spark = {name: str(record.get(name, "")) for name in ("spark_master", "spark_page")}
        secured = bool(record.get("kafka_secured", False))
        return Endpoints(tuple(record["kafka_bootstrap"]), record["airflow_url"], **spark, kafka_secured=secured)
    except FileNotFoundError:
        raise NotReadyError(f"The stack of {folder.root} is not up.", fix="run `sluice up`.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptionError(
            f"{folder.stack} does not say where the stack is: {error!r}.", fix="run `sluice down`, then `sluice up`."
        ) from error


def write_endpoints(folder: StateFolder, endpoints: Endpoints) -> None:
    """Record where the stack answers."""
    folder.root.mkdir(parents=True, exist_ok=True)
    write_durably(folder.stack, asdict(endpoints))
