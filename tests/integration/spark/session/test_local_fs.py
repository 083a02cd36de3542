"""Files that appear at once or not at all, whatever is cut, and never replace another: checkpoints and commits.

The trials run Spark's and Delta's own code for putting a file in place, on our file system, in a JVM without a session.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from sluice.devstack.kafka.java import find_compiler, java_command
from sluice.settings import inherited, settings

MOST_OPERATIONS = 40
OURS = "sluice.fs.AtomicLocalFs"


@dataclass(frozen=True)
class Jvm:
    """Runs `Trial`."""

    java: str
    class_path: str

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", self.class_path]
        return subprocess.run(
            [self.java, *options, "Trial", *map(str, words)], capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Jvm:
    home = inherited().get("JAVA_HOME", "")
    compiler = find_compiler(home)
    assert compiler is not None
    classes = tmp_path_factory.mktemp("classes")
    libraries = [f"{Path(pyspark.__file__).parent}/jars/*", f"{settings().jars}/spark/*"]
    class_path = ":".join([str(classes), *libraries])
    source = Path(__file__).parent / "java" / "Trial.java"
    subprocess.run([compiler, "-cp", class_path, "-d", classes, source], check=True, capture_output=True)
    return Jvm(java_command(home), class_path)


def cut_at(jvm: Jvm, kind: str, file: Path, operation: int) -> str:
    """Cut the power before an operation; return which it was, or nothing if there is no such operation."""
    proof = file.parent.parent / f"proof-{operation}"
    content = "v1 of what must be whole"
    done = jvm.run("cut", kind, file, content, operation, proof)
    if done.returncode == 0:
        assert (done.stdout.strip(), file.read_text().strip(), proof.exists()) == ("put", content, False)
        return ""
    assert done.returncode == 137, done.stderr
    before = file.exists()
    assert not before or file.read_text().strip() == content
    again = jvm.run("cut", kind, file, content, MOST_OPERATIONS**2, proof.with_name("none"))
    assert again.stdout.strip() == ("refused" if before else "put"), again.stderr
    assert file.read_text().strip() == content
    return proof.read_text()


def put_with_cuts(jvm: Jvm, kind: str, folder: Path) -> list[str]:
    """Cut the power before each operation in turn, each in a folder of its own; return what was cut."""
    cut: list[str] = []
    for operation in range(1, MOST_OPERATIONS):
        place = folder / str(operation) / "log"
        place.mkdir(parents=True)
        which = cut_at(jvm, kind, place / "7", operation)
        if not which:
            return cut
        cut.append(which)
    raise AssertionError(f"more than {MOST_OPERATIONS} operations for one file: {cut}")


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["checkpoint", "commit"])
def test_a_cut_at_any_operation_leaves_the_whole_file_or_none(jvm: Jvm, kind: str, tmp_path: Path) -> None:
    cut = put_with_cuts(jvm, kind, tmp_path)
    assert {"create", "write", "write the rest", "close", "link", "unlink"} <= set(cut), cut


@pytest.mark.verify
@pytest.mark.timeout(240)
def test_a_race_for_a_name_has_one_winner_and_nothing_is_replaced(jvm: Jvm, tmp_path: Path) -> None:
    for kind in ("checkpoint", "commit"):
        folder = tmp_path / kind
        folder.mkdir()
        done = jvm.run("race", kind, folder, 100, OURS)
        assert done.stdout.split() == ["100", "0", "0"], done.stderr


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("loaded", "processes"), [(OURS, "0"), ("org.apache.hadoop.fs.local.LocalFs", "1")])
def test_spark_removes_a_folder_without_a_process_and_what_a_link_leads_to_stays(
    jvm: Jvm, tmp_path: Path, loaded: str, processes: str
) -> None:
    folder, elsewhere = tmp_path / "snapshot", tmp_path / "elsewhere"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "000012.sst").write_text("state")
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("not ours to remove")
    (folder / "link").symlink_to(elsewhere)

    done = jvm.run("remove", folder, loaded)

    assert (done.stdout.strip(), folder.exists()) == (processes, False), done.stderr
    assert (elsewhere / "kept").exists()
