"""An archive of the classes that every driver loads (Java's class data sharing).

Loading, parsing and verifying some 20,000 classes is a third of the CPU that a JVM with Spark spends until its first
result. A JVM that maps the archive skips that; one that cannot use it (another Java, other jars) loads its classes as
before. So nothing depends on the archive, and a machine without one is only slower.

The archive is a static one. A dynamic one, which a JVM writes as it ends, holds a few more classes, but its JVM hung
in one of four runs: Spark's threads are still at work then.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sluice.settings import inherited, settings

CLASS_OPTIONS = "spark.driver.defaultJavaOptions"
"""The setting that takes the options: a spec that sets `spark.driver.extraJavaOptions` keeps the archive."""
_PATTERN = "classes-*.jsa"
QUICKLY = "-XX:TieredStopAtLevel=1"
"""Neither JVM lives long enough for code that is compiled well."""
_TRAINING_SECONDS, _DUMP_SECONDS = 300, 300


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one installation.

    Attributes:
        jars: the folder of the jars that a session loads beside Spark's; the archive lies in its parent.
    """

    jars: Path

    @property
    def path(self) -> Path:
        """Where the archive for exactly these jars and those of Spark belongs."""
        digest = hashlib.sha256()
        for jar in sorted([*self.jars.glob("*.jar"), *_spark_jars()]):
            digest.update(f"{jar}\n{jar.stat().st_size}\n".encode())
        return self.jars.parent / _PATTERN.replace("*", digest.hexdigest()[:12])

    def options(self) -> str:
        """Return the JVM's options that use the archive; empty where there is none.

        Any archive of this installation will do: the JVM compares it with its class path, and ignores one that is of
        other jars, without a warning.
        """
        newest = max(self.jars.parent.glob(_PATTERN), key=lambda file: file.stat().st_mtime_ns, default=None)
        if newest is None:
            return ""
        quoted = str(newest).replace('"', '\\"')
        return f'-XX:SharedArchiveFile="{quoted}" -Xlog:cds=off'

    def ensure(self) -> bool:
        """Make the archive if it is missing, and remove those of other jars; return whether it is there.

        It costs a session of Spark and a dump, some 60 CPU-seconds altogether.
        """
        wanted = self.path
        if wanted.is_file():
            return True
        with TemporaryDirectory(dir=self.jars.parent) as folder:
            made = Path(folder, "classes.jsa")
            if not (_train(self.jars, Path(folder)) and _dump(Path(folder), made)):
                return False
            for other in self.jars.parent.glob(_PATTERN):
                other.unlink()
            made.rename(wanted)
        return True


def _train(jars: Path, folder: Path) -> bool:
    return _succeeds(
        [sys.executable, "-m", "sluice.spark.driver.class_training", str(jars), str(folder)], _TRAINING_SECONDS
    )


def _dump(folder: Path, archive: Path) -> bool:
    """Have the Java of the training write the archive, for the training's class path."""
    jvm = json.loads((folder / "jvm.json").read_bytes())
    dump = [
        str(Path(jvm["java.home"], "bin", "java")),
        *("-Xshare:dump", "-XX:+UseSerialGC", QUICKLY, "-Xlog:disable"),
        f"-XX:SharedClassListFile={folder / 'classes.txt'}",
        f"-XX:SharedArchiveFile={archive}",
        *("-cp", jvm["java.class.path"]),
    ]
    return _succeeds(dump, _DUMP_SECONDS) and archive.is_file()


def _succeeds(command: Sequence[str], seconds: float) -> bool:
    try:
        done = subprocess.run(
            command,
            env=inherited(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _spark_jars() -> Sequence[Path]:
    """Return the jars that PySpark brings."""
    spec = importlib.util.find_spec("pyspark")
    places = (spec.submodule_search_locations or []) if spec else []
    return [jar for place in places for jar in Path(place, "jars").glob("*.jar")]


def main() -> None:
    """Make the archive of this installation; for `make setup`."""
    if not ClassArchive(settings().jars / "spark").ensure():
        sys.stderr.write("No class archive could be made: drivers start slower, and nothing else changes.\n")


if __name__ == "__main__":
    main()
