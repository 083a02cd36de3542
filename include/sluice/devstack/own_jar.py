"""The JVM classes that Sluice brings itself (`sluice/jars/java`), compiled where the jars are fetched.

The jar's name holds the digest of its sources, so that it is there or not, and never another one.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.devstack.kafka.java import FIX, REQUIRED_VERSION, find_compiler
from sluice.errors import NotReadyError
from sluice.settings import LOCALE, environment

PATTERN = "sluice-*.jar"
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class OwnJar:
    """The jar beside those that Spark loads.

    Attributes:
        sources: the folder of the `.java` files, and of what goes into the jar as it is (`META-INF`).
        folder: where the jar belongs.
    """

    sources: Path
    folder: Path

    @property
    def path(self) -> Path:
        """The jar of these very sources."""
        digest = hashlib.sha256()
        for file in [*self._files(), *self._resources()]:
            digest.update(f"{file.relative_to(self.sources)}\n".encode() + file.read_bytes())
        return self.folder / PATTERN.replace("*", digest.hexdigest()[:12])

    def missing(self) -> tuple[str, ...]:
        """Return the jar as `<folder>/<file>` if it is not there."""
        jar = self.path
        return () if jar.is_file() else (f"{jar.parent.name}/{jar.name}",)

    def ensure(self, libraries: Sequence[Path], java_home: str = "") -> bool:
        """Compile it if it is not there, and remove those of other sources; return whether that was needed.

        Raises:
            NotReadyError: there is no compiler, or it refuses the sources.
        """
        if not self.missing():
            return False
        if (compiler := find_compiler(java_home)) is None:
            raise NotReadyError("There is a java and no javac: a JRE, not a JDK.", fix=FIX)
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            classes = Path(folder, "classes")
            self._compile(compiler, libraries, classes)
            for resource in self._resources():
                copy = classes / resource.relative_to(self.sources)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(resource.read_bytes())
            packed = _packed(classes, Path(folder, "packed"))
            for other in self.folder.glob(PATTERN):
                other.unlink()
            packed.rename(self.path)
        return True

    def _files(self) -> list[Path]:
        return sorted(self.sources.rglob("*.java"))

    def _resources(self) -> list[Path]:
        return sorted(file for file in (self.sources / "META-INF").rglob("*") if file.is_file())

    def _compile(self, compiler: Path, libraries: Sequence[Path], classes: Path) -> None:
        class_path = ":".join(f"{library}/*" for library in libraries)
        options = [
            "--release",
            str(REQUIRED_VERSION),
            "-Xlint:all,-classfile,-path,-processing",
            "-Werror",
            "-proc:none",
        ]
        done = subprocess.run(
            [compiler, *options, "-cp", class_path, "-d", classes, *self._files()],
            env={**environment(), **LOCALE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            output = done.stdout.decode(errors="replace").strip()
            raise NotReadyError(f"{self.sources} does not compile: {output}", fix="repair the sources.")


def _packed(classes: Path, jar: Path) -> Path:
    """Pack all files of a folder; the same ones give the same bytes."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(file for file in classes.rglob("*") if file.is_file()):
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(classes)), _EPOCH), file.read_bytes())
    return jar
