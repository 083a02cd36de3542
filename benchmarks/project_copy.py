"""Copies of this project in which some specs say something else."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from benchmarks.backfill.recompute import PIPELINE
from sluice.settings import settings


def dense_project(folder: Path, copies: int, changes: Mapping[str, str] | None = None) -> Path:
    """Copy specs and jobs for traffic that is denser than New York's: its quality gate expects `copies` times as much.

    Args:
        folder: where to.
        copies: how often every flight occurs.
        changes: other values of keys of the pipeline's spec, as YAML.
    """
    copied_project(folder, "include", "spark_jobs")
    for key, value in (changes or {}).items():
        _replace(folder / "include" / "pipelines" / f"{PIPELINE}.yaml", rf"^{key}:.*$", f"{key}: {value}")
    suite = folder / "include" / "expectations" / f"{PIPELINE}.yaml"
    _replace(suite, r"max_value: 100\b", f"max_value: {100 * copies}")
    return folder


def copied_project(folder: Path, *parts: str) -> Path:
    """Copy some of the project's top folders, and return where to."""
    for name in parts:
        shutil.copytree(settings().home / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def own_project(folder: Path, files: Mapping[str, str]) -> None:
    """Write a project of these files, by their paths, with the local deployment and the driver's main."""
    local = {"name": "local", "kafka": {"kind": "embedded"}, "replication": 1}
    always = {
        "include/deployments/local.yaml": json.dumps(local),
        "spark_jobs/stream.py": (settings().home / "spark_jobs" / "stream.py").read_text(encoding="utf-8"),
    }
    for name, text in {**always, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def without_open_values(project: Path) -> Path:
    """Leave the live output out of a copy, and return it: peers compute none."""
    spec = project / "include" / "pipelines" / "departures.yaml"
    lines = spec.read_text(encoding="utf-8").splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if "kind: latest" in line)
    end = next(number for number, line in enumerate(lines) if number > start and not line.startswith(" "))
    spec.write_text("".join(lines[:start] + lines[end:]), encoding="utf-8")
    return project


def _replace(file: Path, pattern: str, value: str) -> None:
    text, found = re.subn(pattern, value, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found, f"{file.name} has no {pattern}"
    file.write_text(text, encoding="utf-8")
