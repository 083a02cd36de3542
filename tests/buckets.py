"""Buckets of a real S3 server of our own, with faults on request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from sluice.storage.bucket_folder import BucketFolder

_HOME = Path(__file__).parents[1]


class BucketServer:
    """A running `tests.s3_server`."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._client = httpx.Client(base_url=self.url, timeout=60)

    @property
    def variables(self) -> Mapping[str, str]:
        """What a process needs to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "sluice",
            "AWS_SECRET_ACCESS_KEY": "of a test",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def new_bucket(self) -> BucketFolder:
        """Make a bucket of its own."""
        name = f"b-{uuid4().hex}"
        self._client.put(f"/{name}").raise_for_status()
        return BucketFolder(name)

    def make_faults(self, *rules: Mapping[str, Any]) -> None:
        """Replace the faults; see `tests.s3_server.FaultyStore`."""
        self._client.post("/__faults", json=list(rules)).raise_for_status()

    def faults_made(self) -> dict[str, int]:
        """Return how often each kind was made, since the rules were set."""
        made: dict[str, int] = self._client.get("/__faults").json()
        return made


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    """Run a server as long as the context lasts."""
    command = [sys.executable, "-m", "tests.s3_server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=_HOME, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield BucketServer(int(process.stdout.readline()))
        finally:
            process.kill()
