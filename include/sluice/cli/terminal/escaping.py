r"""Output to the terminal: our own colours and cursor movements, and text that cannot imitate either.

Data, errors and logs hold what producers have sent: escape sequences that repaint the screen or set the clipboard,
marks that reverse text, invisible characters. They are printed escaped (`\x1b`). The command line writes through a
`Terminal`; everything else (help, a traceback, a library's warning) passes the `Guard` around the standard streams.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import IO, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sluice.topics.printable import printable_lines

_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


class Terminal(Console):
    """A rich console that prints control characters escaped.

    Strings are escaped before layout, so that columns stay aligned; a ready-made `Text` is escaped when it has become
    segments. Colours and cursor movements are not text there, and pass.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:  # noqa: ANN401 - rich's own
        super().__init__(stderr=stderr, highlight=False, emoji=False, **options)

    @property
    def file(self) -> IO[str]:
        """The stream inside the guard, which would escape the cursor movements."""
        stream = super().file
        return stream.stream if isinstance(stream, Guard) else stream

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's own
        """Return text for the layout, escaped."""
        return super().render_str(printable_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments to print, with their text escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))

    def write(self, text: str) -> None:
        """Print text without wrapping or markup."""
        self.file.write(printable_lines(text))
        self.file.flush()


class Guard:
    """Wraps a standard stream: lets text and colours through, and escapes other control characters."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text, and return its length."""
        pieces = _COLOUR.split(text)
        self.stream.write("".join(part if at % 2 else printable_lines(part) for at, part in enumerate(pieces)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines in order."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the stream
        return getattr(self.stream, name)


def without_colours(text: str) -> str:
    """Return text without colour sequences."""
    return _COLOUR.sub("", text)


def guard_standard_streams() -> None:
    """Wrap stdout and stderr in a guard, for the rest of this process."""
    sys.stdout, sys.stderr = (
        stream if isinstance(stream, Guard) else cast("TextIO", Guard(stream)) for stream in (sys.stdout, sys.stderr)
    )
