r"""What reaches the terminal: our own colours and movements of the cursor, and text that cannot be taken for either.

Data, errors and logs hold whatever a producer has sent: escape sequences that repaint the screen or set the clipboard,
marks that turn text around, characters that nobody sees. They are shown escaped (`\x1b`). Everything that the command
line writes goes through a `Terminal`; what passes it by (help, a traceback, a library's warning) meets the `Guard`
around the standard streams.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import IO, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sluice.topics.legible import safe_lines

_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


class Terminal(Console):
    """A console of rich's that shows control characters instead of sending them.

    Text is escaped before it is laid out, so that columns stay straight, and whatever was not (a `Text` that somebody
    made) when it has become segments. Colours and movements of the cursor are no text there, and pass.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:  # noqa: ANN401 - rich's own
        super().__init__(stderr=stderr, highlight=False, emoji=False, **options)

    @property
    def file(self) -> IO[str]:
        """Where it writes: behind the guard, which would escape the movements of the cursor."""
        found = super().file
        return found.stream if isinstance(found, Guard) else found

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's own
        """Return text as rich lays it out, escaped."""
        return super().render_str(safe_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of what is printed; text among them is escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=safe_lines(segment.text))

    def write(self, text: str) -> None:
        """Print text as it is, neither wrapped nor read as markup."""
        self.file.write(safe_lines(text))
        self.file.flush()


class Guard:
    """A standard stream that lets text and colours through, and escapes other control characters.

    Args:
        stream: where to.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text, and return how much of it that was."""
        pieces = _COLOUR.split(text)
        self.stream.write("".join(part if at % 2 else safe_lines(part) for at, part in enumerate(pieces)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them one after another."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self.stream, name)


def without_colours(text: str) -> str:
    """Return a log's text without the colours that its writer meant for a terminal of its own."""
    return _COLOUR.sub("", text)


def guard_standard_streams() -> None:
    """Put a guard before stdout and stderr, for the rest of this process."""
    sys.stdout, sys.stderr = (
        stream if isinstance(stream, Guard) else cast("TextIO", Guard(stream)) for stream in (sys.stdout, sys.stderr)
    )
