"""What a pipeline's drivers and executors may use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from sluice.specs.spec import MEMORY_PATTERN, Spec

Memory = Annotated[str, StringConstraints(pattern=MEMORY_PATTERN)]
"""A Java heap, such as `700m` or `2g`."""

_LEAST_EXECUTOR_MB = 450


class Resources(Spec):
    """What a driver and its executors may use."""

    cores: int = Field(default=2, ge=1, le=256)
    """All that its tasks may use at once: of this machine, or of all executors of a cluster together."""
    driver_memory: Memory = "700m"
    executor_memory: Memory = "700m"
    """Of each executor, where the deployment's master is a cluster. A worker gives an application one executor."""

    @field_validator("executor_memory")
    @classmethod
    def _spark_takes_it(cls, memory: str) -> str:
        if _megabytes(memory) < _LEAST_EXECUTOR_MB:
            raise ValueError(f"Spark refuses executors with less than {_LEAST_EXECUTOR_MB}m")
        return memory

    @property
    def executor_mb(self) -> int:
        """`executor_memory` in MB."""
        return _megabytes(self.executor_memory)


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * (1024 if memory.endswith("g") else 1)
