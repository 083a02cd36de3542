"""Metrics: what is measured, under which names, and how records become samples. Knows no format and no server."""
