"""Loads a script of containers/, which is no package."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tests.unit.containers.compose_file import ROOT


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "containers" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
