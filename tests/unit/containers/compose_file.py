"""What the tests of the containers read: docker-compose.yaml and the files beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from sluice.settings import PACKAGE

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = PACKAGE / "containers"
COMPOSE_TEXT = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
BROKERS = {name: service for name, service in SERVICES.items() if "containers/broker.sh" in service.get("command", [])}
METRICS = {"prometheus", "node-exporter"}
"""Of the profile `metrics`."""


def environment(name: str) -> dict[str, str]:
    """Return the variables of a service."""
    found: dict[str, str] = SERVICES[name].get("environment", {})
    return found


def is_one_shot(service: dict[str, Any]) -> bool:
    return bool(service["restart"] == "no")


def properties(path: str) -> dict[str, str]:
    """Return a Java properties file of the scripts as a dictionary."""
    lines = (SCRIPTS / path).read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def dockerfile(file: Path = ROOT / "containers" / "Dockerfile") -> list[str]:
    """Return a Dockerfile's instructions, one per element, without comments."""
    text = file.read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [line for line in re.sub(r"\\\n\s*", "", code).splitlines() if line]


def seconds(duration: str) -> int:
    """Read a duration of docker-compose.yaml such as `30s` or `2m`."""
    number, unit = int(duration[:-1]), duration[-1]
    return number * {"s": 1, "m": 60}[unit]
