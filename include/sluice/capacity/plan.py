"""The plan: cores, memory, partitions, disk and money for a wanted rate and latency, each with its derivation.

Two lines are fitted to what was measured. Cores at work: so many whatever comes, most of them for the fixed part of
batches, and so many per record a second. Seconds of a batch: so many for each, and so many per record. The first says
how many cores the work takes. The second says how long a record waits, and at which rate batches no longer keep up;
only its part per record shrinks with more cores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sluice.capacity.batches import BatchModel, batch_models
from sluice.capacity.fitting import fitted, fitted_interval
from sluice.capacity.measured import MeasuredUnit, StoredBytes, refuse_unfit
from sluice.capacity.targets import Target
from sluice.errors import SpecError
from sluice.specs.deployments.prices import Prices
from sluice.wording import span

HOURS_PER_MONTH = 730
GB = 1e9
_MILLION = 1_000_000
_FAR = 3.0
"""Beyond so many times the greatest measured rate, a straight line is a guess."""
_ROUNDING = 1e-9
_FULL = 0.85
"""Share of the Java heap above which it needs more."""


@dataclass(frozen=True)
class Estimate:
    """One number of a plan.

    Attributes:
        name: what is planned.
        value: in `unit`; None: it is not known, and `why` says what is missing.
        unit: such as `cores` or `bytes`.
        why: how it follows from what was measured.
        low: lower end of its 95 % interval, where there is one.
        high: upper end of it.
    """

    name: str
    value: float | None
    unit: str
    why: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CapacityPlan:
    """What a pipeline's driver needs.

    Attributes:
        pipeline: its name.
        unit: the driver.
        rate: records per second that it is for.
        measured_rate: records per second as they were.
        estimates: what it needs, and what would follow.
        limit: what decides about the number of cores, in words.
        notes: what to know before acting on it.
    """

    pipeline: str
    unit: str
    rate: float
    measured_rate: float
    estimates: Sequence[Estimate]
    limit: str
    notes: Sequence[str]

    def estimate(self, name: str) -> Estimate:
        """Return one of its estimates."""
        return next(each for each in self.estimates if each.name == name)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "pipeline": self.pipeline,
            "unit": self.unit,
            "rate_per_second": self.rate,
            "measured_rate_per_second": self.measured_rate,
            "limit": self.limit,
            "estimates": [asdict(each) for each in self.estimates],
            "notes": list(self.notes),
        }


def capacity_plan(measured: MeasuredUnit, target: Target, prices: Prices | None = None) -> CapacityPlan:
    """Return the plan for a driver.

    Args:
        measured: the driver as it was.
        target: what is wanted.
        prices: of cores, memory and disks; None: none are declared, and the plan has no money.

    Raises:
        NotReadyError: too little was measured, or under one load only; see `refuse_unfit`.
        SpecError: the wanted rate is none.
    """
    refuse_unfit(measured)
    rate = target.rate.of(measured.rate)
    if not (math.isfinite(rate) and rate > 0):
        raise SpecError(f"{rate} records per second cannot be planned for.", fix="give a rate above 0.")
    models = batch_models(measured)
    used = used_cores(measured, rate)
    needs = _needed_cores(used.value or 0.0, measured, target, models, rate)
    limit = max(needs, key=lambda need: need.value or 0.0)
    cores = max(1, math.ceil((limit.value or 0.0) - _ROUNDING))
    whole = Estimate("cores", cores, "cores", f"{limit.value or 0.0:.2f} by {limit.name}, rounded up")
    estimates = [
        used,
        *needs,
        whole,
        *_latencies(measured, models, rate, cores),
        _memory(measured, target, rate),
        _partitions(measured, models, cores),
        *_disks(measured, target, rate),
    ]
    if prices is not None:
        estimates += _money(estimates, prices)
    return CapacityPlan(
        measured.pipeline, measured.unit, rate, measured.rate, estimates, limit.name, _notes(measured, target, rate)
    )


def used_cores(measured: MeasuredUnit, rate: float) -> Estimate:
    """Return how many cores are at work on average at a rate (records per second)."""
    samples = [window.as_sample() for window in measured.windows]
    fit = fitted(samples)
    low, high = fitted_interval(samples, lambda found: found.at(1, rate))
    batches = sum(window.batches for window in measured.windows) / sum(window.seconds for window in measured.windows)
    why = (
        f"{fit.fixed:.3f} for {batches:.2g} batches a second, whatever is in them + {fit.each * _MILLION:.3g} CPU s "
        f"per million records x {rate:,.0f}/s, fitted to {len(samples)} windows"
    )
    value = fit.at(1, rate)
    return Estimate("used cores", value, "cores", why, min(low, value), max(high, value))


def _needed_cores(
    used: float, measured: MeasuredUnit, target: Target, models: Sequence[BatchModel], rate: float
) -> Sequence[Estimate]:
    """Return how many cores each demand asks for."""
    free = 1 - target.headroom
    needs = [Estimate("work", used / free, "cores", f"{used:.2f} at work, {target.headroom:.0%} stay free")]
    slowest = max(models, key=lambda model: model.load(rate), default=None)
    load = 0.0 if slowest is None else slowest.load(rate)
    if slowest is not None:
        why = f"a second's records take batches of {slowest.stream} {load:.2f} s on a core, {target.headroom:.0%} free"
        needs.append(Estimate("keeping up", load / free, "cores", why))
    if target.outage:
        most = max(used_cores(measured, rate * target.surge).value or 0.0, load * target.surge)
        why = f"after {target.outage:,.0f} s, {target.surge:.2f} times the rate for {target.catch_up:,.0f} s"
        needs.append(Estimate("catching up", most, "cores", why))
    if target.latency is not None:
        needs.append(_for_latency(measured, models, rate, target.latency))
    return needs


def _for_latency(measured: MeasuredUnit, models: Sequence[BatchModel], rate: float, latency: float) -> Estimate:
    name, model = "latency", _shown(measured, models)
    if model is None:
        return Estimate(name, None, "cores", _unknown_latency(measured))
    least = model.least_latency
    if latency <= least:
        why = (
            f"{latency:g} s is not to be had by cores: trigger and fixed part of {model.stream}'s batches take up to "
            f"{least:.2f} s without any record; shorten `trigger`, or choose the lane `latency` or `realtime`"
        )
        return Estimate(name, None, "cores", why)
    why = f"each record within {latency:g} s, of which {least:.2f} s are trigger and fixed part of a batch"
    return Estimate(name, model.cores_for(rate, latency), "cores", why)


def _shown(measured: MeasuredUnit, models: Sequence[BatchModel]) -> BatchModel | None:
    return next((model for model in models if model.stream == measured.shown), None)


def _unknown_latency(measured: MeasuredUnit) -> str:
    if measured.shown is None:
        return "the lane shows each record by itself, so no length of batches says how long one waits"
    return f"too few batches of {measured.shown} are on record, or all of one length"


def _latencies(measured: MeasuredUnit, models: Sequence[BatchModel], rate: float, cores: int) -> Sequence[Estimate]:
    """Return how long a record waits until it is in a committed batch, with so many cores."""
    model = _shown(measured, models)
    if model is None:
        return (Estimate("mean latency", None, "seconds", _unknown_latency(measured)),)
    length, mean, longest = model.times(rate, cores)
    if math.isinf(length):
        why = f"with {cores} cores batches of {model.stream} do not keep up"
        return (Estimate("mean latency", None, "seconds", why),)
    fit = f"{model.stream}: {model.fixed:.3f} s + {model.each * _MILLION / cores:.3g} s per million records"
    return (
        Estimate("batch length", length, "seconds", fit),
        Estimate("mean latency", mean, "seconds", "half of the time between two batches + one batch"),
        Estimate("longest latency", longest, "seconds", "the time between two batches + one batch"),
    )


def _memory(measured: MeasuredUnit, target: Target, rate: float) -> Estimate:
    held = measured.memory_bytes
    if held is None:
        return Estimate("memory", None, "bytes", "nobody has measured the driver's memory yet")
    factor = max(1.0, rate / measured.rate)
    more = measured.state_bytes * (factor - 1)
    why = (
        f"{held / GB:.2f} GB of its processes + {more / GB:.2f} GB if its state grows with the rate, "
        f"{target.headroom:.0%} free"
    )
    return Estimate("memory", (held + more) / (1 - target.headroom), "bytes", why)


def _partitions(measured: MeasuredUnit, models: Sequence[BatchModel], cores: int) -> Estimate:
    why = f"a task reads one partition, so that each core needs one; a batch has {measured.tasks} now"
    slowest = max(models, key=lambda model: model.each, default=None)
    if slowest is not None and slowest.each:
        why += f"; one partition of {slowest.stream} takes {1 / slowest.each:,.0f} records/s at most"
    return Estimate("partitions", cores, "partitions", why)


def _disks(measured: MeasuredUnit, target: Target, rate: float) -> Sequence[Estimate]:
    """Return what each table and topic will hold, and all of them together."""
    found = [_disk(stored, target, rate) for stored in measured.stored]
    known = [each.value for each in found if each.value is not None]
    if not known:
        return (*found, Estimate("disk", None, "bytes", "no table of it holds a record yet"))
    lacking = [each.name.removeprefix("disk: ") for each in found if each.value is None]
    why = f"without {' and '.join(lacking)}" if lacking else "all of these"
    return (*found, Estimate("disk", sum(known), "bytes", f"{why}; files that vacuum has yet to remove come on top"))


def _disk(stored: StoredBytes, target: Target, rate: float) -> Estimate:
    name = f"disk: {stored.name}"
    if stored.unknown:
        return Estimate(name, None, "bytes", stored.unknown)
    if not stored.records:
        return Estimate(name, stored.bytes, "bytes", "as now: it has a row for each key, whatever the rate")
    kept = target.days * 86_400 if stored.seconds is None else stored.seconds
    length = f"{target.days:g} days, and more each day" if stored.seconds is None else span(kept)
    own = rate * stored.share
    return Estimate(
        name, stored.each * own * kept, "bytes", f"{stored.each:,.0f} bytes per record x {own:,.0f}/s x {length}"
    )


def _money(estimates: Sequence[Estimate], prices: Prices) -> Sequence[Estimate]:
    """Return the price of a month, part by part; without a price, or without the number, a part is not known."""
    unit = f"{prices.currency} a month"
    by_name = {each.name: each.value for each in estimates}
    parts = (
        ("cores", prices.core_hour, by_name["cores"], HOURS_PER_MONTH, "core-hour"),
        ("memory", prices.memory_gb_hour, _scaled(by_name["memory"]), HOURS_PER_MONTH, "GB-hour"),
        ("disk", prices.disk_gb_month, _scaled(by_name["disk"]), 1, "GB-month"),
    )
    found = []
    for name, price, amount, times, per in parts:
        if price is None or amount is None:
            missing = "its price is not declared" if price is None else f"{name} is not known"
            found.append(Estimate(f"money: {name}", None, unit, missing))
            continue
        hours = f" x {times} h" if times > 1 else ""
        why = f"{amount:,.2f} x {price:g} per {per}{hours}"
        found.append(Estimate(f"money: {name}", amount * price * times, unit, why))
    known = [each for each in found if each.value is not None]
    lacking = [each.name.removeprefix("money: ") for each in found if each.value is None]
    why = f"without {' and '.join(lacking)}" if lacking else "all of these"
    whole = sum(each.value or 0.0 for each in known) if known else None
    return (*found, Estimate("money", whole, unit, why))


def _scaled(value: float | None) -> float | None:
    return None if value is None else value / GB


def _notes(measured: MeasuredUnit, target: Target, rate: float) -> Sequence[str]:
    notes = []
    least, most = measured.rates
    if rate > _FAR * most:
        notes.append(
            f"{rate:,.0f}/s is {rate / most:.0f} times the greatest rate that was measured ({most:,.0f}/s): measure "
            "nearer to it before you rely on this"
        )
    elif rate < least:
        notes.append(f"{rate:,.0f}/s is below all that was measured ({least:,.0f} to {most:,.0f}/s)")
    if measured.beside:
        notes.append(f"the same driver runs {', '.join(measured.beside)}: the plan has their work at the same factor")
    if measured.heap_used is not None and measured.heap_max and measured.heap_used > _FULL * measured.heap_max:
        share = measured.heap_used / measured.heap_max
        notes.append(f"the Java heap was {share:.0%} full: give it more (`spark.driver.memory`)")
    if target.latency is not None and target.outage:
        notes.append("while it catches up, records wait for longer than the latency that is asked for")
    return notes
