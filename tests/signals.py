"""Signals as a terminal would leave them, for a suite that was started in the background."""

from __future__ import annotations

import signal

_IGNORED_IN_THE_BACKGROUND = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def restore_default_signals() -> None:
    """Take the default action again for what a shell lets background jobs ignore.

    `make test &` in a script, `nohup` and some CI runners start processes with these signals ignored, and every child
    inherits that: a test that presses Ctrl-C would then wait for a process that never hears it.
    """
    for number in _IGNORED_IN_THE_BACKGROUND:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
