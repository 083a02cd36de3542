"""The key under which these tests submit a driver, and what its launcher knows of it."""

from __future__ import annotations

import json

from sluice.launch.launcher import LocalLauncher
from sluice.streams.life.launcher import DriverState

KEY = "local.flights.g1"


def keeper_of(launcher: LocalLauncher) -> int:
    return int(json.loads(launcher.log(KEY).with_name("pid.json").read_text())["keeper"])


def state(launcher: LocalLauncher) -> DriverState:
    return launcher.find(KEY).state
