"""What cores, memory and disks cost: what plans of capacity and records of cost become money by."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from sluice.specs.model.spec import Spec

_CODE = re.compile(r"[A-Z]{3}")
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Prices(Spec):
    """Prices in one currency, as a provider's list or your own books have them. What has none costs an unknown sum."""

    currency: str
    """Its code of three letters, such as EUR."""
    core_hour: Price | None = None
    """Of one core for an hour."""
    memory_gb_hour: Price | None = None
    """Of a GB (10^9 bytes) of memory for an hour."""
    disk_gb_month: Price | None = None
    """Of a GB (10^9 bytes) on disk, or in a bucket, for a month."""

    @field_validator("currency")
    @classmethod
    def _is_a_code(cls, currency: str) -> str:
        if not _CODE.fullmatch(currency):
            raise ValueError(f"found {currency!r}; write the three letters of its code, such as EUR")
        return currency
