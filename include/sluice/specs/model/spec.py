"""What every spec is: an immutable model that lets no key pass unnoticed."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

NAME_PATTERN = "^[a-z][a-z0-9_]{0,62}$"
SQL_SUFFIX = ".sql"
TRANSFORM_PATTERN = r"^[a-z_][a-z0-9_]*(:[a-z_][a-z0-9_]*|\.sql)$"
MEMORY_PATTERN = "^[1-9][0-9]*[mg]$"
VARIABLE_PATTERN = "^SLUICE_PASSWORD_[A-Z0-9_]{1,100}$"
ADDRESS_PATTERN = "^.+:[0-9]{1,5}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""Lower case, digits and underscore: safe as a file, table, DAG and metric name."""


class Spec(BaseModel):
    """Base of all specs: immutable, and no key passes unnoticed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
