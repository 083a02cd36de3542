"""Which commands change something, and their record in the audit log: at one place, where commands are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_ALWAYS: tuple[str, ...] = ()

ACTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("up", "down", "demo", "serve", "alerts test"), _ALWAYS),
    **dict.fromkeys(("topics apply", "topics cancel", "topics send", "access apply"), _ALWAYS),
    **{f"streams {name}": _ALWAYS for name in ("start", "stop", "restart", "resume", "force", "reset", "heal")},
    **{f"mirror {name}": _ALWAYS for name in ("start", "stop", "failover")},
    "streams upgrade": ("try_", "promote"),
    "intervals advance": ("confirm_until", "refuse"),
    "outputs rebuild": _ALWAYS,
    **dict.fromkeys(("backfill run", "backfill accept", "backfill cancel"), _ALWAYS),
    **{f"quarantine {name}": _ALWAYS for name in ("open", "fix", "discard", "reopen", "patch", "replay")},
    **dict.fromkeys(("control rebuild", "control compact"), _ALWAYS),
    **dict.fromkeys(("feed send", "feed follow", "prove"), _ALWAYS),
}
"""The commands that are recorded → the parameters of which one must be given; without any, each call is recorded.

Commands that only write files of the project are not among them: its repository knows who changed them."""

_OF_THE_TERMINAL = frozenset({"output"})


def record_acts(command: Any, path: str) -> None:  # noqa: ANN401 - typer's own click is private
    """Let a command, or each command of a group, be recorded if it is an act.

    Args:
        command: of click.
        path: its name, with those of the groups around it.
    """
    for name, inner in getattr(command, "commands", {}).items():
        record_acts(inner, f"{path} {name}")
    if path in ACTS and command.callback is not None:
        command.callback = _recorded(command.callback, path)


def _recorded(callback: Callable[..., Any], path: str) -> Callable[..., Any]:
    def act(**given: Any) -> Any:  # noqa: ANN401 - whatever the command takes
        if ACTS[path] and not any(given.get(name) for name in ACTS[path]):
            return callback(**given)
        # Only what is recorded pays for these imports.
        from sluice.audit.recording import ActRecorder, Doer  # noqa: PLC0415 - see above
        from sluice.cli.terminal.user import user_name  # noqa: PLC0415 - see above

        recorder = ActRecorder.of_project()
        arguments = {name.rstrip("_"): value for name, value in given.items() if name not in _OF_THE_TERMINAL}
        with recorder.recorded(recorder.described(path, Doer(user_name(), "command line"), arguments)):
            answer = callback(**given)
        # A command may return what replaces its process: nothing can be recorded after that.
        return answer() if callable(answer) else answer

    return act
