"""The bill of materials names what the locks name, with their digests, and is valid CycloneDX."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cyclonedx", reason="cyclonedx-python-lib is not installed; run `make setup`")

from cyclonedx.validation.json import JsonStrictValidator
from requirements.sbom import (
    JARS,
    LOCKS,
    ROOT,
    VERSION,
    Installed,
    Jar,
    Locked,
    bill_of,
    bill_of_this_project,
    jars_inside,
    main,
    needs_of,
    read_jars,
    read_lock,
    written,
)

DIGEST = "a" * 64
LOCK = f"""left==1.0 \\
    --hash=sha256:{DIGEST} \\
    --hash=sha256:{"b" * 64}
Only.Windows==2 ; sys_platform == 'win32' \\
    --hash=sha256:{DIGEST}
not_windows==3 ; sys_platform != 'win32' \\
    --hash=sha256:{DIGEST}
"""
IVY = """<ivy-module><dependencies>
<dependency conf="spark-&gt;master" org="io.delta" name="delta-storage" rev="4.4.0"/>
</dependencies></ivy-module>"""
PROJECT: Mapping[str, object] = {
    "name": "sluice",
    "version": "0.1.0",
    "license": "Apache-2.0",
    "dependencies": ["left>=1"],
    "optional-dependencies": {"postgres": ["driver[fast]"]},
}


def test_a_lock_gives_exact_versions_with_all_digests_for_this_platform() -> None:
    assert list(read_lock(LOCK)) == [Locked("left", "1.0", (DIGEST, "b" * 64)), Locked("not-windows", "3", (DIGEST,))]


@pytest.mark.parametrize("line", ["left==1.0", f"left>=1.0 --hash=sha256:{DIGEST}", f"left --hash=sha256:{DIGEST}"])
def test_what_is_not_locked_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is not locked"):
        list(read_lock(line))


def test_jars_have_their_names_in_maven_and_their_digests() -> None:
    (jar,) = read_jars(IVY, f"{DIGEST}  spark/delta-storage-4.4.0.jar\n")
    assert jar == Jar("spark/delta-storage-4.4.0.jar", DIGEST, "io.delta", "delta-storage", "4.4.0")


@pytest.mark.parametrize("digests", ["", f"{DIGEST}  spark/delta-storage-4.4.1.jar\n"])
def test_a_jar_that_only_one_lock_names_is_refused(digests: str) -> None:
    with pytest.raises(ValueError, match=r"differ in .*spark/delta-storage-4\.4\.0\.jar"):
        list(read_jars(IVY, digests))


def _jar(folder: Path, file: str, *said: tuple[str, str, str]) -> str:
    with zipfile.ZipFile(folder / file, "w") as archive:
        archive.writestr("A.class", file)
        for group, name, version in said:
            text = f"#made\ngroupId={group}\nartifactId={name}\nversion={version}\n"
            archive.writestr(f"META-INF/maven/{group}/{name}/pom.properties", text)
    return hashlib.sha256((folder / file).read_bytes()).hexdigest()


def test_a_jar_inside_a_package_is_named_by_what_maven_left_in_it_or_by_its_file(tmp_path: Path) -> None:
    shaded = _jar(tmp_path, "fat-1.2.jar", ("org.other", "thin", "9"), ("org.fat", "fat", "1.2"))
    plain = _jar(tmp_path, "plain_2.13-0.4.jar")
    nameless = _jar(tmp_path, "odd-core.jar", ("org.other", "thin", "9"))
    assert list(jars_inside(tmp_path)) == [
        Jar("fat-1.2.jar", shaded, "org.fat", "fat", "1.2"),
        Jar("odd-core.jar", nameless, "", "odd-core", ""),
        Jar("plain_2.13-0.4.jar", plain, "", "plain_2.13", "0.4"),
    ]


INSTALLED = {
    "left": Installed("MIT", ("right; extra == 'more'", "Right.Hand", "never; sys_platform == 'win32'")),
    "right-hand": Installed("", ("left", "driver[fast]")),
    "driver": Installed("LGPL-3.0-only", ("driver-fast; extra == 'fast'", "driver-slow; extra == 'slow'")),
    "tool": Installed("Some licence of its own", ("left",)),
}


def test_what_a_package_needs_follows_extras_and_markers_and_ends_in_circles() -> None:
    assert needs_of(["left"], INSTALLED) == {
        "left": {"right-hand"},
        "right-hand": {"left", "driver"},
        "driver": {"driver-fast"},
        "driver-fast": set(),
    }
    assert needs_of(["left[more]"], INSTALLED)["left"] == {"right-hand", "right"}


def bill() -> dict[str, Any]:
    names = ("left", "right-hand", "driver", "driver-fast", "tool")
    locked = {Locked(name, "1", (DIGEST,)) for name in names} | {Locked("beside", "2", (DIGEST,), LOCKS[1])}
    jars = read_jars(IVY, f"{DIGEST}  spark/delta-storage-4.4.0.jar\n")
    inside = {"left": [Jar("fat-1.2.jar", "c" * 64, "org.fat", "fat", "1.2"), Jar("odd.jar", "d" * 64, "", "odd", "")]}
    text = written(bill_of(locked, jars, inside, PROJECT, INSTALLED))
    assert JsonStrictValidator(VERSION).validate_str(text) is None
    found: dict[str, Any] = json.loads(text)
    return found


def test_components_have_their_digests_licences_and_scopes() -> None:
    found = bill()
    components = {each["name"]: each for each in found["components"]}
    assert {name: each["scope"] for name, each in components.items()} == {
        **dict.fromkeys(("left", "right-hand", "driver", "driver-fast", "beside", "delta-storage"), "required"),
        "tool": "excluded",
    }
    assert components["left"]["purl"] == "pkg:pypi/left@1"
    assert components["left"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert components["tool"]["licenses"] == [{"license": {"name": "Some licence of its own"}}]
    (files,) = components["left"]["externalReferences"]
    assert (files["type"], files["hashes"]) == ("distribution", [{"alg": "SHA-256", "content": DIGEST}])
    assert components["delta-storage"]["purl"] == "pkg:maven/io.delta/delta-storage@4.4.0?type=jar"
    assert components["delta-storage"]["hashes"] == [{"alg": "SHA-256", "content": DIGEST}]
    inner = {each["name"]: each for each in components["left"]["components"]}
    assert inner["fat"]["purl"] == "pkg:maven/org.fat/fat@1.2?type=jar"
    assert "purl" not in inner["odd"]


def test_dependencies_are_those_of_the_project_and_of_its_packages() -> None:
    found = {each["ref"]: each.get("dependsOn", []) for each in bill()["dependencies"]}
    assert found["sluice"] == ["pkg:pypi/driver@1", "pkg:pypi/left@1", "spark/delta-storage-4.4.0.jar"]
    assert found["pkg:pypi/right-hand@1"] == ["pkg:pypi/driver@1", "pkg:pypi/left@1"]
    assert found["pkg:pypi/driver@1"] == ["pkg:pypi/driver-fast@1"]


def test_the_same_installation_has_the_same_number() -> None:
    assert bill()["serialNumber"] == bill()["serialNumber"]
    other = written(bill_of({Locked("left", "2", (DIGEST,))}, [], {}, PROJECT, {}))
    assert json.loads(other)["serialNumber"] != bill()["serialNumber"]


def test_the_bill_of_this_project_has_all_packages_and_jars_and_no_place_of_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(tmp_path / "dist" / "sbom.json")])
    assert re.search(r"\d+ components, and \d+ jars inside of them\.", capsys.readouterr().out)
    text = (tmp_path / "dist" / "sbom.json").read_text()
    assert JsonStrictValidator(VERSION).validate_str(text) is None
    assert str(ROOT) not in text
    components = json.loads(text)["components"]
    urls = {reference["url"] for each in components for reference in each.get("externalReferences", [])}
    assert all(url.startswith("pkg:pypi/") for url in urls)
    jars = {line.split()[1]: line.split()[0] for line in (JARS / "jars.sha256").read_text().splitlines()}
    digests = {each["bom-ref"]: each["hashes"][0]["content"] for each in components if "hashes" in each}
    assert digests == jars
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    scopes = {each["name"]: each["scope"] for each in components}
    for requirement in declared:
        assert scopes[re.split(r"[\[=<>!]", requirement)[0]] == "required", requirement
    assert scopes["pytest"] == scopes["mypy"] == "excluded"
    assert scopes["psycopg-binary"] == "required"
    (spark,) = [each for each in components if each["name"] == "pyspark"]
    assert {"spark-core_2.13", "log4j-core"} <= {each["name"] for each in spark["components"]}
    assert len(bill_of_this_project().components) == len(components)
