"""Variables that specs name and the environment lacks, and how an operator sets them."""

from __future__ import annotations

from collections.abc import Iterable

from sluice.secrecy.secret_values import forms
from sluice.settings import environment, is_set
from sluice.specs.catalog.variables import Variables


def not_set(variables: Variables) -> tuple[str, ...]:
    """Return what a process needs and would not find if it were started from here."""
    here = environment()
    needed = {name for name in variables.needed if not here.get(name)}
    secrets = {name for name in variables.secrets - variables.known_otherwise if not is_set(name)}
    return tuple(sorted(needed | secrets))


def how_to_set(names: Iterable[str]) -> str:
    """Return how variables are set, as a clause: what they hold, and where."""
    held = [_form(name) for name in names]
    return f"set {'; '.join(held)}, where the command runs; for Airflow, before `sluice up` or in its own environment."


def _form(name: str) -> str:
    _, file, command = forms(name)
    if name.startswith("SLUICE_CONNECTION_"):
        return f"{name}=postgresql+psycopg://user:password@host/database, or {file} or {command} to where that is"
    if name.startswith("SLUICE_PASSWORD_"):
        return f"{name} to the password, or {file} to a file that holds it, or {command} to a command that prints it"
    return name
