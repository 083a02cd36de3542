"""The Spark provider installs pyspark-client into pyspark's own folder: both must bring the same bytes."""

from __future__ import annotations

from importlib.metadata import distribution


def files(package: str) -> dict[str, str]:
    """Return the digest of each of a package's files that is not its own metadata, as its record has it."""
    return {
        str(file): file.hash.value
        for file in distribution(package).files or []
        if file.hash is not None and ".dist-info/" not in str(file)
    }


def test_pyspark_and_its_client_agree_on_every_file_that_both_claim() -> None:
    whole, client = files("pyspark"), files("pyspark-client")
    shared = whole.keys() & client.keys()
    assert len(shared) > 300
    assert {name for name in shared if whole[name] != client[name]} == set()


def test_the_files_on_disk_are_the_ones_on_record() -> None:
    client = distribution("pyspark-client")
    missing = [
        str(file) for file in client.files or [] if file.suffix == ".py" and not client.locate_file(file).exists()
    ]
    assert missing == []
