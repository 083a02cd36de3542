"""Write the pages and tables that are made from the code: `make references`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from generate.commands import commands_page
from generate.drawing import drawing
from generate.failures import errors_page
from generate.glossary import glossary_page, with_catalogue, with_reasons
from generate.rooms import rooms_page
from sluice.settings import inherited


def write_pages(folder: Path) -> None:
    """Write all pages.

    Args:
        folder: for the references; created if missing. The folder above it holds the other made page and tables.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cli.md").write_text(commands_page(), encoding="utf-8")
    (folder / "errors.md").write_text(errors_page(), encoding="utf-8")
    (folder / "rooms.md").write_text(rooms_page(), encoding="utf-8")
    (folder / "architecture.svg").write_text(drawing(), encoding="utf-8")
    (folder.parent / "codes.md").write_text(glossary_page(), encoding="utf-8")
    for name, with_table in (("metrics.md", with_catalogue), ("validation.md", with_reasons)):
        page = folder.parent / name
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="sluice-airflow-") as home:  # Airflow writes into its home when imported
        subprocess.run(
            [sys.executable, "-m", "generate.dags", str(folder / "dags.md")],
            env={**inherited(), "PYTHONPATH": str(Path(__file__).parents[1]), "AIRFLOW_HOME": home},
            check=True,
        )


if __name__ == "__main__":
    _parser = argparse.ArgumentParser(prog="python -m generate", description="Write the references.")
    _parser.add_argument("folder", type=Path)
    write_pages(_parser.parse_args().folder)
