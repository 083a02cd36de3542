"""What a pipeline's drivers and executors may use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, StringConstraints, Tag, ValidationInfo, field_validator

from sluice.specs.model.spec import MEMORY_PATTERN, Spec

Memory = Annotated[str, StringConstraints(pattern=MEMORY_PATTERN)]
"""A Java heap, such as `700m` or `2g`."""

Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
"""The name of a variable of the environment."""

_OURS = ("SLUICE_", "AIRFLOW", "_AIRFLOW", "SUPERVISOR_", "OPENLINEAGE_")
_MIN_EXECUTOR_MB = 450
_MAX_CORES = 256


class CoreRange(Spec):
    """Within which bounds the cores of an application grow with its backlog, where the master is a cluster."""

    least: int = Field(ge=1, le=_MAX_CORES)
    """It asks for so many at its start, and keeps them while there is nothing to do."""
    most: int = Field(ge=1, le=_MAX_CORES)
    """It never has more. What is cut by the number of cores is cut by this one, whatever it has at the moment."""

    @field_validator("most")
    @classmethod
    def _is_not_less(cls, most: int, info: ValidationInfo) -> int:
        least: int | None = info.data.get("least")
        if least is not None and most < least:
            raise ValueError(f"found {most}, which is less than `least`, {least}; exchange them")
        return most


def _form(cores: object) -> str:
    return "range" if isinstance(cores, dict | CoreRange) else "number"


Cores = Annotated[
    Annotated[int, Field(ge=1, le=_MAX_CORES), Tag("number")] | Annotated[CoreRange, Tag("range")],
    Discriminator(_form),
]
"""A number of cores, or bounds for it."""


class Resources(Spec):
    """What a driver and its executors may use."""

    cores: Cores = 2
    """All that its tasks may use at once: of this machine, or of all executors of a cluster together. With `least` and
    `most` a cluster gives more while tasks wait, and takes them back when executors have nothing to do."""
    driver_memory: Memory = "700m"
    executor_memory: Memory = "700m"
    """Of each executor, where the deployment's master is a cluster."""
    executor_cores: int | None = Field(default=None, ge=1, le=_MAX_CORES)
    """Of each executor, where the deployment's master is a cluster: how many tasks it runs at once, in one
    `executor_memory`. Omitted: each worker gives one executor, with the cores that it has for it; where `cores` are a
    range, each has one."""

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
        cores: int | CoreRange | None = info.data.get("cores")
        if each is None or cores is None:
            return each
        bounds = {"cores": cores} if isinstance(cores, int) else {"least": cores.least, "most": cores.most}
        for name, bound in bounds.items():
            fewer = bound - bound % each
            if fewer < bound:
                instead = f"{fewer} or {fewer + each}" if fewer else f"{each}"
                raise ValueError(
                    f"executors of {each} cores never use all {bound}: set `{name}` to {instead}, or `executor_cores` "
                    f"to what divides {bound}"
                )
        return each

    @property
    def least_cores(self) -> int:
        """With how many it works when it has nothing to catch up with."""
        return self.cores if isinstance(self.cores, int) else self.cores.least

    @property
    def most_cores(self) -> int:
        """How many it may have at once."""
        return self.cores if isinstance(self.cores, int) else self.cores.most

    @property
    def grows(self) -> bool:
        """Whether a cluster gives it more cores, and takes them back, as there is work for them."""
        return self.least_cores < self.most_cores

    @property
    def cores_each(self) -> int | None:
        """Of one executor; None: what a worker has for it."""
        return self.executor_cores or (1 if self.grows else None)

    @property
    def executor_mb(self) -> int:
        """`executor_memory` in MB."""
        return _megabytes(self.executor_memory)


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * (1024 if memory.endswith("g") else 1)
