"""Labels, scores and their quality, worked out reading by reading; the model's arithmetic is written out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import skops.io

from tests.scenarios.records import on_time

TABLES = ("labelled_readings", "scored_readings", "score_quality")
NUMBER = (int, float)
READING = {"reading": (str,), "machine": (str,), "temperature": NUMBER, "vibration": NUMBER, "pressure": NUMBER}
BREAKDOWN = {"breakdown": (str,), "machine": (str,)}
FEATURES = ("temperature", "vibration", "pressure")
RULES: dict[str, Any] = {"lateness": timedelta(minutes=10), "skew": timedelta(minutes=1)}


def tables(sent: dict[str, Sequence[bytes]], project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of all tables, given the values of each topic."""
    readings = on_time(sent["readings"], READING, event="measured_at", arrival="reading_seen_at", **RULES)
    breakdowns = on_time(sent["breakdowns"], BREAKDOWN, event="broke_at", arrival="breakdown_seen_at", **RULES)
    once = {each["reading"]: each for each in readings}
    broke = defaultdict(list)
    for each in breakdowns:
        broke[each["machine"]].append(each["broke_at"])
    scaler, regression = (part for _, part in skops.io.load(project / "include" / "data" / "model.skops").steps)
    labelled, scored, hours = [], [], defaultdict(list)
    for each in once.values():
        named = {name: each[name] for name in ("reading", "machine", "measured_at")}
        ahead = (at - each["measured_at"] for at in broke[each["machine"]])
        breaks = any(timedelta() < gap <= timedelta(hours=1) for gap in ahead)
        scales = zip(FEATURES, scaler.mean_, scaler.scale_, regression.coef_[0], strict=True)
        exponent = regression.intercept_[0] + sum(c * (each[name] - m) / s for name, m, s, c in scales)
        score = 1 / (1 + math.exp(-exponent))
        numbers = {f"{name}_e3": round(each[name] * 1000) for name in FEATURES}
        labelled.append({**named, **numbers, "breaks": breaks})
        scored.append({**named, "score_e6": round(score * 1_000_000)})
        hours[each["measured_at"].replace(minute=0, second=0, microsecond=0)].append((score > 0.5, breaks))
    quality = [{"hour": hour, **measured(pairs)} for hour, pairs in hours.items()]
    return {
        "labelled_readings": pd.DataFrame(labelled),
        "scored_readings": pd.DataFrame(scored),
        "score_quality": pd.DataFrame(quality),
    }


def measured(pairs: list[tuple[bool, bool]]) -> dict[str, float]:
    predicted, positives = sum(one for one, _ in pairs), sum(two for _, two in pairs)
    right = sum(one and two for one, two in pairs)
    shares = {
        "precision_permille": 1000 * right // predicted if predicted else math.nan,
        "recall_permille": 1000 * right // positives if positives else math.nan,
    }
    return {"readings": len(pairs), "positives": positives, "predicted": predicted, "right": right, **shares}


def quality(rows: pd.DataFrame, _project: Path, _seed: int, _start: datetime, _end: datetime) -> dict[str, float]:
    """Return precision and recall over all hours, and the number of readings that were to be found."""
    right, predicted, positives = (int(rows[name].sum()) for name in ("right", "predicted", "positives"))
    return {"precision": right / predicted, "recall": right / positives, "episodes": positives}


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them: features and scores as whole numbers."""
    whole = {f"{name}_e3": (rows[name] * 1000).round().astype(int) for name in FEATURES if name in rows}
    if "score" in rows:
        whole["score_e6"] = (rows["score"] * 1_000_000).round().astype(int)
    return rows.assign(**whole)
