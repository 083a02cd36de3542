"""What a pipeline's drivers and executors may use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from sluice.specs.model.spec import MEMORY_PATTERN, Spec

Memory = Annotated[str, StringConstraints(pattern=MEMORY_PATTERN)]
"""A Java heap, such as `700m` or `2g`."""

Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
"""The name of a variable of the environment."""

_OURS = ("SLUICE_", "AIRFLOW", "_AIRFLOW", "SUPERVISOR_", "OPENLINEAGE_")
_MIN_EXECUTOR_MB = 450
_MAX_CORES = 256


class Resources(Spec):
    """What a driver and its executors may use."""

    cores: int = Field(default=2, ge=1, le=_MAX_CORES)
    """All that its tasks may use at once: of this machine, or of all executors of a cluster together."""
    driver_memory: Memory = "700m"
    executor_memory: Memory = "700m"
    """Of each executor, where the deployment's master is a cluster."""
    executor_cores: int | None = Field(default=None, ge=1, le=_MAX_CORES)
    """Of each executor, where the deployment's master is a cluster: how many tasks it runs at once, in one
    `executor_memory`. Omitted: each worker gives one executor, with the cores that it has for it."""

    environment: tuple[Variable, ...] = ()
    """Names of variables that its drivers and batches get from the process that starts them, beside what they need to
    run and the connections and passwords that specs name. They must be set there. Executors on a cluster have what
    their worker has."""

    @field_validator("environment")
    @classmethod
    def _belongs_to_the_user(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name.startswith(_OURS):
                raise ValueError(f"{name} is Sluice's or Airflow's own, which pass on what a process needs; remove it")
        if len(set(names)) < len(names):
            raise ValueError("a name is in it twice")
        return names

    @field_validator("executor_memory")
    @classmethod
    def _spark_takes_it(cls, memory: str) -> str:
        if _megabytes(memory) < _MIN_EXECUTOR_MB:
            raise ValueError(f"Spark refuses executors with less than {_MIN_EXECUTOR_MB}m")
        return memory

    @field_validator("executor_cores")
    @classmethod
    def _uses_every_core(cls, each: int | None, info: ValidationInfo) -> int | None:
        """Refuse executors that do not add up to `cores`: the rest would be declared and never used."""
        cores: int | None = info.data.get("cores")
        if each is None or cores is None or cores % each == 0:
            return each
        fewer = cores - cores % each
        instead = f"{fewer} or {fewer + each}" if fewer else f"{each}"
        raise ValueError(
            f"executors of {each} cores never use all {cores}: set `cores` to {instead}, or `executor_cores` to what "
            f"divides {cores}"
        )

    @property
    def executor_mb(self) -> int:
        """`executor_memory` in MB."""
        return _megabytes(self.executor_memory)


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * (1024 if memory.endswith("g") else 1)
