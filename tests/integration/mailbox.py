"""A mail server: a real SMTP server on a free port of this machine, which keeps what it gets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass
class Mailbox:
    """Keeps every mail; refuses each recipient with `refusal` if that says something."""

    received: list[EmailMessage] = field(default_factory=list)
    refusal: str = ""
    port: int = 0

    async def handle_RCPT(  # noqa: N802 - the library's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take a recipient, or refuse it."""
        _ = server, session, options
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - the same
        """Keep a mail."""
        _ = server, session
        assert isinstance(envelope.content, bytes)
        message = BytesParser(EmailMessage, policy=default).parsebytes(envelope.content)
        assert isinstance(message, EmailMessage)
        self.received.append(message)
        return "250 taken"


@contextmanager
def running_mailbox() -> Iterator[Mailbox]:
    """Give a server that listens, and end it."""
    mailbox, loop = Mailbox(), asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(lambda: SMTP(mailbox, loop=loop), "127.0.0.1", 0))
    mailbox.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield mailbox
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def text_of(message: EmailMessage) -> str:
    """Return the text of a mail's only part."""
    body = message.get_body(preferencelist=("html", "plain"))
    assert body is not None
    return str(body.get_content())
