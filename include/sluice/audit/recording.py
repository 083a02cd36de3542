"""Puts acts on record: their beginning before anything is done, their end whatever comes of it."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sluice.alerts.redaction import HIDDEN, Redaction
from sluice.audit.act import Act, ActOutcome
from sluice.audit.log import AuditLog
from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.settings import environment, settings
from sluice.specs.deployments.secrecy import is_secret

log = logging.getLogger(__name__)

_LONGEST_ARGUMENT, _LONGEST_DETAIL = 300, 1000

_remarks: list[str] = []


@dataclass(frozen=True)
class Doer:
    """Who does something, and through what; see `Act`."""

    who: str
    through: str


def remark(text: str) -> None:
    """Add something to the record of the act that this process is doing, such as who approved it."""
    _remarks.append(text)


@dataclass(frozen=True)
class ActRecorder:
    """Records acts of this project's deployment. A disk that does not take a line stops no act: that is logged.

    Attributes:
        audit: the log.
        deployment: which one the acts are done on.
        redact: hides secrets.
        clock: gives the time.
    """

    audit: AuditLog
    deployment: str
    redact: Redaction
    clock: Clock

    @classmethod
    def of_project(cls) -> ActRecorder:
        """Return that of this process's settings."""
        place = settings()
        redact = Redaction.of_environment(environment())
        return cls(AuditLog(place.folder.audit), place.deployment, redact, SystemClock())

    def described(
        self,
        what: str,
        doer: Doer,
        arguments: Mapping[str, object],
        *,
        act_id: str = "",
        at: datetime | None = None,
    ) -> Act:
        """Return an act without its secrets. Nothing is recorded.

        Args:
            what: is done.
            doer: by whom.
            arguments: as given; what is omitted or empty is left out.
            act_id: of the act, where its end is recorded by another call.
            at: when it began; omitted: now.
        """
        shown = {name: self._shown(name, value) for name, value in arguments.items() if value not in _NOTHING}
        began = at or self.clock.now()
        act_id = act_id or secrets.token_hex(8)
        return Act(act_id, began, doer.who, doer.through, self.deployment, what, shown)

    def begin(self, act: Act) -> None:
        """Record that an act begins."""
        _remarks.clear()
        self._append(act)

    def end(self, act: Act, outcome: ActOutcome, detail: str = "") -> None:
        """Record how an act has ended."""
        said = _cut(self.redact("; ".join(filter(None, [*_remarks, detail]))), _LONGEST_DETAIL)
        _remarks.clear()
        self._append(replace(act, outcome=outcome, ended=self.clock.now(), detail=said))

    @contextmanager
    def recorded(self, act: Act) -> Iterator[None]:
        """Record an act that is done within. What is raised is passed on."""
        self.begin(act)
        try:
            yield
        except BaseException as error:
            self.end(act, outcome_of(error), why_of(error))
            raise
        self.end(act, ActOutcome.DONE)

    def _shown(self, name: str, value: object) -> str:
        if is_secret(name.replace("_", ".")):
            return HIDDEN
        if isinstance(value, list | tuple | set | frozenset):
            value = ", ".join(map(str, value))
        return _cut(self.redact(str(value)), _LONGEST_ARGUMENT)

    def _append(self, act: Act) -> None:
        try:
            self.audit.append(act)
        except NotReadyError as error:
            log.warning("This act is not on record: %s", error)


_NOTHING: tuple[object, ...] = (None, "", False, (), [], {})


def outcome_of(error: BaseException) -> ActOutcome:
    """Return how an act ended that has raised this."""
    if isinstance(error, RefusedError):
        return ActOutcome.REFUSED
    if isinstance(error, KeyboardInterrupt):
        return ActOutcome.INTERRUPTED
    return ActOutcome.DONE if _exit_code(error) == 0 else ActOutcome.FAILED


def why_of(error: BaseException) -> str:
    """Return what is to be said of it; empty for an end without a failure."""
    code = _exit_code(error)
    if code is None:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"exit code {code}" if code else ""


def _exit_code(error: BaseException) -> int | None:
    """Return the code of what only ends a process, `SystemExit` or `Exit` of typer; None for any other error."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return None if isinstance(error, SluiceError) else getattr(error, "exit_code", None)


def _cut(text: str, most: int) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()  # names of files may be no text
    return text if len(text) <= most else f"{text[: most - 1]}…"
