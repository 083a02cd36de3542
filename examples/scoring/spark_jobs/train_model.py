"""Train the model of `scored_readings` on what is settled: `python spark_jobs/train_model.py`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sluice

FEATURES = ("temperature", "vibration", "pressure")
MODEL = Path(__file__).parents[1] / "include" / "data" / "model.skops"


def trained(rows: pd.DataFrame) -> bytes:
    """Return a model of labelled readings: a file that holds numbers and names, and nothing to execute."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(rows[list(FEATURES)].to_numpy(), rows["breaks"].to_numpy())
    content: bytes = skops.io.dumps(model)
    return content


if __name__ == "__main__":
    MODEL.write_bytes(trained(sluice.table("labelled_readings").pandas()))
