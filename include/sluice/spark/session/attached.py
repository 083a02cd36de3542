"""A batch's session in the JVM of a warm engine."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sluice.launch.engine_client import Attachment
from sluice.spark.session.callbacks import authenticate_callbacks


def attached_session(attachment: Attachment, name: str, settings: Mapping[str, str]) -> SparkSession:
    """Return a session of its own through a door into an engine. It must not be stopped: others run in that JVM.

    Args:
        attachment: the door.
        name: shown with its jobs.
        settings: by Spark's names; what the engine's session has already is left out. Python workers import the code
            that executors do.
    """
    gateway = _gateway(attachment)
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001 - as every notebook server attaches
    jvm: Any = gateway.jvm
    running = jvm.JavaSparkContext.fromSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    interrupted = signal.getsignal(signal.SIGINT)
    context = SparkContext(gateway=gateway, jsc=running, conf=SparkConf(_jconf=running.getConf()))
    signal.signal(signal.SIGINT, interrupted)  # PySpark's handler cancels all jobs, those of others too
    context.pythonExec = sys.executable
    context.environment["PYTHONPATH"] = settings["spark.executorEnv.PYTHONPATH"]
    context.setJobGroup(attachment.group, name, interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", attachment.group)  # within one pool the first job goes before all
    spark = SparkSession(context, jvm.SparkSession.getDefaultSession().get().newSession())
    for key, value in settings.items():
        if attachment.settings.get(key) != value and spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    return spark


def _gateway(attachment: Attachment) -> Any:  # noqa: ANN401 - PySpark's own, which has no types
    """Return a gateway to the engine's JVM, made as PySpark makes it for a JVM that is there already."""
    door = {"PYSPARK_GATEWAY_PORT": str(attachment.port), "PYSPARK_GATEWAY_SECRET": attachment.secret}
    os.environ.update(door)  # noqa: TID251 - PySpark asks nowhere else
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
        authenticate_callbacks(gateway)
        return gateway
    finally:
        for name in door:
            del os.environ[name]  # noqa: TID251 - what this process starts has no part in it
