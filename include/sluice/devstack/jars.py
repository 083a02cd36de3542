"""The JVM artefacts: fetched once by the Ivy that ships inside pyspark, and verified against `jars.sha256`.

`sluice/jars/ivy.xml` names every artefact by exact version and resolves nothing transitively; where they come from is
Ivy's own configuration. They belong to the installation (`Settings.jars`), not to a state folder. One more is compiled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sluice.devstack.kafka.java import FIX, find_java, java_fault
from sluice.devstack.own_jar import OwnJar
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.settings import LOCALE, PACKAGE, Settings, environment, settings

_TRIES = 2
_LOCK = PACKAGE / "jars"
_CONFIGURATIONS = ("spark", "kafka", "agent", "s3")
_CACHE = ".ivy"


@dataclass(frozen=True)
class Jars:
    """The jars of an installation.

    Attributes:
        folder: holds `spark/`, `kafka/`, `agent/` and `s3/`.
        lock: the folder with `ivy.xml` and `jars.sha256`; omitted: what the package carries.
        configurations: the folders, as `ivy.xml` names them.
    """

    folder: Path
    lock: Path = _LOCK
    configurations: tuple[str, ...] = _CONFIGURATIONS

    def missing(self) -> tuple[str, ...]:
        """Return the jars that are absent or were changed since they were verified, as `<conf>/<file>`."""
        stamps = self._stamps()
        return tuple(
            name for name in self._digests() if name not in stamps or stamps[name] != _stamp(self.folder / name)
        )

    def ensure(self) -> int:
        """Fetch and verify what is missing; return how many jars were fetched. Costs milliseconds when all are there.

        Raises:
            NotReadyError: there is no Java, or a jar could not be fetched.
            RefusedError: a fetched jar is another one than the lock says.
        """
        if not self.missing():
            return 0
        fetched = 0
        for _ in range(_TRIES):  # a jar that was cut short is fetched again once
            if not (wrong := self._wrong()):
                break
            self._fetch()
            fetched = len(wrong)
        self._refuse(self._wrong())
        stamps = {name: _stamp(self.folder / name) for name in self._digests()}
        self._stamp_file.write_text(json.dumps({"lock": self._lock_digest(), "jars": stamps}), encoding="utf-8")
        return fetched

    def _digests(self) -> dict[str, str]:
        lines = (self.lock / "jars.sha256").read_text(encoding="utf-8").splitlines()
        return {name: digest for digest, name in (line.split() for line in lines)}

    def _wrong(self) -> dict[str, str | None]:
        """Return the jars that are absent (None) or differ (their digest). Those that differ are removed."""
        wrong: dict[str, str | None] = {}
        for name, wanted in self._digests().items():
            path = self.folder / name
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            if digest != wanted:
                path.unlink(missing_ok=True)
                wrong[name] = digest
        return wrong

    def _fetch(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        java = find_java(home := environment().get("JAVA_HOME", ""))
        if (fault := java_fault(java, home)) or java is None:
            raise NotReadyError(f"The jars cannot be fetched: {fault}.", fix=FIX)
        with tempfile.TemporaryDirectory() as user_folder:
            done = subprocess.run(
                [
                    java.path,
                    f"-Divy.default.ivy.user.dir={user_folder}",  # else Ivy writes into the home directory
                    "-jar",
                    str(_ivy()),
                    # Relative, because Ivy takes parentheses for a part of a pattern, and makes patterns of both.
                    *("-cache", _CACHE, "-retrieve", "[conf]/[artifact]-[revision](-[classifier]).[ext]"),
                    *("-ivy", str(self.lock.absolute() / "ivy.xml"), "-confs", *self.configurations),
                    *("-types", "jar", "bundle", "-warn"),
                ],
                cwd=self.folder,
                env={**environment(), **LOCALE},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        shutil.rmtree(self.folder / _CACHE, ignore_errors=True)
        absent = [name for name in self._digests() if not (self.folder / name).is_file()]
        if absent:
            lines = [line.strip(" :\t") for line in done.stdout.decode(errors="replace").splitlines()]
            reason = next((line for line in lines if line.startswith(("Server access error", "java.io"))), "")
            raise NotReadyError(
                f"{len(absent)} of {len(self._digests())} jars could not be fetched, {absent[0]} among them"
                f"{f' ({reason})' if reason else ''}.",
                fix="see that Maven Central, or the mirror in ~/.ivy2/ivysettings.xml, can be reached; then repeat it.",
            )

    def _refuse(self, wrong: dict[str, str | None]) -> None:
        for name, digest in wrong.items():
            raise RefusedError(
                f"{name} has sha256 {digest}, and {self.lock / 'jars.sha256'} says {self._digests()[name]}; "
                "it was removed.",
                fix="find out who changed the artefact at the repository before anything runs it.",
            )

    @property
    def _stamp_file(self) -> Path:
        return self.folder / "verified.json"

    def _stamps(self) -> dict[str, list[int]]:
        """Return size and time of each jar when its digest was last compared, if the lock was the same."""
        try:
            record = json.loads(self._stamp_file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return record["jars"] if record.get("lock") == self._lock_digest() else {}

    def _lock_digest(self) -> str:
        return hashlib.sha256((self.lock / "jars.sha256").read_bytes()).hexdigest()


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return [status.st_size, status.st_mtime_ns]


def own_jar(place: Settings) -> OwnJar:
    """Return the jar that is not fetched but compiled."""
    return OwnJar(_LOCK / "java", place.jars / "spark")


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for jar in Path(place, "jars").glob("ivy-*.jar"):
            return jar
    raise NotReadyError("pyspark with its jars is not installed.", fix="run `make setup`.")


def main() -> None:
    """Fetch and verify the jars of this installation; for `make setup`."""
    place = settings()
    try:
        fetched = Jars(place.jars).ensure()
        own = own_jar(place)
        own.ensure((_ivy().parent, own.folder, place.jars / "kafka"), environment().get("JAVA_HOME", ""))
    except SluiceError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    sys.stderr.write(f"{fetched} jars fetched and verified\n" if fetched else "")


if __name__ == "__main__":
    main()
