"""Finds the Java that Spark and Kafka will run on. Standard library alone: it is asked before anything is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

REQUIRED_VERSION = 17
REQUIRED_MODULE = "jdk.incubator.vector"
FIX = "install a JDK 17 (Debian, Ubuntu: `apt install openjdk-17-jdk-headless`) and put it on PATH or in JAVA_HOME."


@dataclass(frozen=True)
class Java:
    """A Java that was found; `version` is None when it did not say."""

    path: str
    version: int | None
    has_modules: bool


def java_command(home: str = "") -> str:
    """Return what to run: JAVA_HOME's Java if that is set, as Spark does; else the one on PATH."""
    return str(Path(home, "bin", "java")) if home else "java"


def find_java(home: str = "") -> Java | None:
    """Return JAVA_HOME's Java if that is set, as Spark does; else the one on PATH; else None."""
    path = shutil.which(java_command(home))
    if not path or not os.access(path, os.X_OK):
        return None
    version = re.search(r'version "(\d+)', _said(path, "-version"))
    return Java(path, int(version.group(1)) if version else None, REQUIRED_MODULE in _said(path, "--list-modules"))


def java_fault(java: Java | None, home: str = "") -> str:
    """Return what is wrong with a Java; empty if nothing is."""
    if java is None:
        return f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "there is no java on PATH"
    if java.version != REQUIRED_VERSION:
        return f"{java.path} is Java {java.version or 'of an unknown version'}, and Spark here needs a JDK 17"
    if not java.has_modules:
        return f"{java.path} is Java 17 without the module {REQUIRED_MODULE}, which Spark needs: a JRE, not a JDK"
    return ""


def find_compiler(home: str = "") -> Path | None:
    """Return the compiler of the Java that will run; None if it is a JRE."""
    java = shutil.which(java_command(home))
    compiler = Path(java).resolve().with_name("javac") if java else None
    return compiler if compiler is not None and os.access(compiler, os.X_OK) else None


def _said(java: str, argument: str) -> str:
    try:
        done = subprocess.run(
            [java, argument], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
