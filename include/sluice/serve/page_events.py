"""Server-sent events of a page: the panels that have changed, as HTML, at the pace of the client.

Nothing is queued for a client. It has the number of the last change that was sent, and gets the panels that changed
since, each as it is now.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager

from sluice.serve.events import number_in, sse_event, woken_in_time
from sluice.serve.pages import ServedPage


async def page_events(
    page: ServedPage, last: str, form: str, listening: AbstractContextManager[None]
) -> AsyncIterator[bytes]:
    """Yield events until the client disconnects, or the page is no longer served like this.

    Args:
        page: the page.
        last: id of the last event that the client has; empty for a new client.
        form: the digest of the page that the client shows; empty if it shows none.
        listening: counts the client.
    """
    with listening:
        if form and form != page.digest:  # its spec has changed since: the client loads it again
            yield sse_event("end", "", {})
            return
        woken = page.changes.subscribe()
        page.attach()
        try:
            number = number_in(last, page.origin)
            sent = -1 if number is None else number
            yield sse_event("alive", "", {})
            while True:
                woken.clear()
                if page.ended:
                    yield sse_event("end", "", {})
                    return
                panels, newest = page.since(sent)
                if panels:
                    sent = newest
                    changed = [{"place": place, "html": html} for place, html in panels]
                    yield sse_event("panels", f"{page.origin}-{newest}", {"panels": changed})
                if not await woken_in_time(woken):
                    yield sse_event("alive", "", {})
        finally:
            page.changes.unsubscribe(woken)
            page.detach()
