"""Which addresses of buckets can hold what a deployment keeps, and by which variables processes reach them."""

from __future__ import annotations

import re

from sluice.specs.deployments.folder_names import folder_fault

_SCHEME = "s3://"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
BUCKET_VARIABLES = frozenset(
    {
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"),
        *("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    }
)
"""The standard variables of AWS, which obstore, delta-rs, Arrow and Spark read; some hold a secret."""


def is_bucket(storage: str | None) -> bool:
    """Whether a deployment's `storage` is in a bucket."""
    return storage is not None and storage.startswith(_SCHEME)


def variables_of_bucket(storage: str | None) -> frozenset[str]:
    """Return the variables by which a process reaches a deployment's `storage`; none if that is a folder."""
    return BUCKET_VARIABLES if is_bucket(storage) else frozenset()


def bucket_fault(address: str) -> str:
    """Return why an address `s3://…` cannot be used and what to write, as a clause; empty if it can."""
    bucket, _, prefix = address.removeprefix(_SCHEME).partition("/")
    if not _NAME.fullmatch(bucket):
        return f"{bucket!r} is no name of a bucket; write s3://bucket/prefix"
    if not all(prefix.split("/")):
        return "it has no prefix, or an empty part in it; write s3://bucket/prefix, without a slash at the end"
    if fault := folder_fault(prefix):
        return f"{fault}; name another prefix"
    return ""
