"""What must be right before anything is installed: `python3 -m sluice.devstack.preflight`, standard library alone.

This file is written so that a python3 that is too old can still read it, and say so. The full list is `sluice doctor`.
"""

import importlib.util
import os
import pathlib
import shutil
import sys

_SUPPORTED = ("3.11", "3.12", "3.13")


def find_python_fault(major: int, minor: int) -> str:
    """Return what is wrong with a version of Python, and what to do; empty if nothing is."""
    running = f"{major}.{minor}"
    if running in _SUPPORTED:
        return ""
    others = [name for name in ("python" + version for version in reversed(_SUPPORTED)) if shutil.which(name)]
    fix = f"run `make setup PYTHON={others[0]}`" if others else "install one of these"
    return f"python3 is {running}, and Sluice needs one of {', '.join(_SUPPORTED)}. Fix: {fix}."


def find_folder_fault(folder: str) -> str:
    """Return why nothing can be installed into a project's folder, and what to do; empty if it can be used."""
    from sluice.specs.deployments.folder_names import folder_fault  # noqa: PLC0415 - an old Python could not read it

    fault = folder_fault(folder)
    return f"the project folder {folder!r} cannot be used: {fault}. Fix: rename it, or move it." if fault else ""


def find_fault() -> str:
    """Return the first thing that is wrong with this machine, and what to do; empty if nothing is."""
    fault = find_python_fault(*sys.version_info[:2]) or find_folder_fault(str(pathlib.Path.cwd()))
    if fault:
        return fault
    if importlib.util.find_spec("ensurepip") is None:
        return "this python3 cannot make a venv (no ensurepip). Fix: on Debian and Ubuntu, `apt install python3-venv`."
    from sluice.devstack.kafka.java import FIX, find_compiler, find_java, java_fault  # noqa: PLC0415 - an old Python could not read it

    home = os.environ.get("JAVA_HOME", "")  # noqa: TID251 - the settings need what is not yet installed
    fault = java_fault(find_java(home), home)
    if not fault and find_compiler(home) is None:
        fault = "there is a java and no javac: a JRE, not a JDK"
    return f"{fault}. Fix: {FIX}" if fault else ""


if __name__ == "__main__":
    sys.exit(find_fault() or 0)
