"""The Spark session of a notebook that has none: local, with Delta, and ended with the notebook's process."""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from sluice.settings import Settings
from sluice.spark.session.session import session
from sluice.specs.model.resources import Resources


def notebook_session(place: Settings) -> SparkSession:
    """Return the active session, or start one on this machine.

    Raises:
        NotReadyError: the jars are missing.
    """
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    folder = tempfile.TemporaryDirectory(prefix="sluice-notebook-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return session("sluice-notebook", Resources(), jars=place.jars / "spark", warehouse=Path(folder.name))
