"""Writes the software bill of materials: what an installation consists of, as CycloneDX JSON.

Python packages come from the locks beside this file, with their digests; jars from the lock that the package carries,
with theirs, and those inside PySpark's wheel from where it is installed. Licences and dependencies are those that
installed packages declare. Nothing is asked of a registry.

python requirements/sbom.py FILE
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
import uuid
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from defusedxml import ElementTree
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("lock.txt", "postgres.txt")
"""What an installation has, with the tools of its development, and what the containers have besides."""
JARS = ROOT / "include" / "sluice" / "jars"
VERSION = SchemaVersion.V1_6


@dataclass(frozen=True)
class Locked:
    """A package of a lock.

    Attributes:
        name: in its canonical form.
        version: the exact one.
        digests: sha256 of each of its files, one of which was installed.
        lock: the file that names it.
    """

    name: str
    version: str
    digests: tuple[str, ...]
    lock: str = "lock.txt"


@dataclass(frozen=True)
class Jar:
    """A jar of the lock, or one inside a wheel.

    Attributes:
        file: its path, as the lock has it, or its name.
        digest: its sha256.
        group: as Maven names it; empty if that is not known.
        name: as Maven names it.
        version: the exact one; empty if that is not known.
    """

    file: str
    digest: str
    group: str
    name: str
    version: str


@dataclass(frozen=True)
class Installed:
    """What an installed package says of itself.

    Attributes:
        licence: an SPDX expression, or a name; empty if it says none.
        requires: its requirements, with their markers.
    """

    licence: str = ""
    requires: tuple[str, ...] = ()


def read_lock(text: str, lock: str = "lock.txt") -> Iterator[Locked]:
    """Yield the packages of a hashed lock that belong to this platform.

    Raises:
        ValueError: a line is no exact version with its digests.
    """
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        written, *digests = line.split(" --hash=sha256:")
        requirement = Requirement(written.strip())
        version = str(requirement.specifier).removeprefix("==")
        if not digests or version == str(requirement.specifier):
            raise ValueError(f"{written.strip()!r} is not locked: it needs `==` and a digest.")
        if requirement.marker is None or requirement.marker.evaluate():
            yield Locked(
                canonicalize_name(requirement.name), version, tuple(digest.strip() for digest in digests), lock
            )


def read_jars(ivy: str, digests: str) -> Iterator[Jar]:
    """Yield the jars of the lock.

    Args:
        ivy: the content of `ivy.xml`.
        digests: the content of `jars.sha256`.

    Raises:
        ValueError: one of the two names a jar that the other lacks.
    """
    named = {
        f"{each.get('conf').partition('->')[0]}/{each.get('name')}-{each.get('rev')}.jar": each
        for each in ElementTree.fromstring(ivy).iter("dependency")
    }
    locked = {file: digest for digest, file in (line.split() for line in digests.splitlines())}
    if differing := named.keys() ^ locked.keys():
        raise ValueError(f"ivy.xml and jars.sha256 differ in {', '.join(sorted(differing))}.")
    for file, each in named.items():
        yield Jar(file, locked[file], each.get("org"), each.get("name"), each.get("rev"))


_LEFT_BY_MAVEN = "META-INF/maven/*/*/pom.properties"


def jars_inside(folder: Path) -> Iterator[Jar]:
    """Yield the jars of a folder, as the properties that Maven has left in each name them; else by their file."""
    for path in sorted(folder.glob("*.jar")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with zipfile.ZipFile(path) as archive:
            left = [name for name in archive.namelist() if PurePosixPath(name).match(_LEFT_BY_MAVEN)]
            # Several of them are of what was shaded into it: its own is the one that its file is named after.
            said = [dict(_properties(archive.read(name).decode("utf-8", "replace"))) for name in left]
        own = [each for each in said if path.stem == f"{each.get('artifactId')}-{each.get('version')}"]
        if own:
            yield Jar(path.name, digest, own[0].get("groupId", ""), own[0]["artifactId"], own[0]["version"])
        else:
            name, _, version = path.stem.rpartition("-")
            plain = (name, version) if version[:1].isdigit() else (path.stem, "")
            yield Jar(path.name, digest, "", *plain)


def _properties(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            yield name.strip(), value.strip()


def what_is_installed(name: str, version: str) -> Installed:
    """Return what a package says of itself, if it is installed here in this version."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return Installed()
    if found.version != version:
        return Installed()
    return Installed(_licence(found.metadata), tuple(found.requires or ()))


_LONGEST_NAME = 80
"""What is longer is the text of a licence, and not its name."""


def _licence(said: metadata.PackageMetadata) -> str:
    """Return the licence that a package declares: as an expression, as a short text, or by its classifiers."""
    for key in ("License-Expression", "License"):
        if key in said and said[key] and "\n" not in said[key] and len(said[key]) <= _LONGEST_NAME:
            return str(said[key])
    found = [each for each in said.get_all("Classifier") or () if each.startswith("License :: ")]
    return " AND ".join(each.rpartition(" :: ")[2] for each in found if not each.endswith("OSI Approved"))


def needs_of(requirements: Iterable[str], installed: Mapping[str, Installed]) -> dict[str, set[str]]:
    """Return packages with all that they need here, by what needs it; of one that is not installed, nothing is known.

    Args:
        requirements: to begin with, with their extras.
        installed: what the packages say of themselves, by name.
    """
    needs: dict[str, set[str]] = {}
    todo = [(canonicalize_name(each.name), extra) for each in map(Requirement, requirements) for extra in _extras(each)]
    done = set()
    while todo:
        name, extra = todo.pop()
        needs.setdefault(name, set())
        if (name, extra) in done:
            continue
        done.add((name, extra))
        for each in map(Requirement, installed.get(name, Installed()).requires):
            if each.marker.evaluate({"extra": extra}) if each.marker else not extra:
                needs[name].add(canonicalize_name(each.name))
                todo += [(canonicalize_name(each.name), further) for further in _extras(each)]
    return needs


def _extras(requirement: Requirement) -> list[str]:
    return ["", *sorted(requirement.extras)]


def bill_of(
    locked: Collection[Locked],
    jars: Iterable[Jar],
    inside: Mapping[str, Iterable[Jar]],
    project: Mapping[str, object],
    installed: Mapping[str, Installed],
) -> Bom:
    """Return the bill.

    Args:
        locked: the Python packages.
        jars: of the lock.
        inside: jars of a package, by its name.
        project: the table `project` of `pyproject.toml`.
        installed: what the packages say of themselves, by name.
    """
    root = Component(
        name=str(project["name"]),
        version=str(project["version"]),
        type=ComponentType.APPLICATION,
        licenses=_licences(str(project.get("license", ""))),
        bom_ref=str(project["name"]),
    )
    declared = _declared(project)
    every = needs_of([each.name for each in locked], installed)
    runtime = needs_of([*declared, *(each.name for each in locked if each.lock != LOCKS[0])], installed)
    packages = {
        each.name: _package(each, installed.get(each.name), inside.get(each.name, ()), at_run_time=each.name in runtime)
        for each in sorted(locked, key=lambda each: each.name)
    }
    archives = [_archive(jar) for jar in sorted(jars, key=lambda jar: jar.file)]
    bill = Bom(components=[*packages.values(), *archives])
    bill.metadata.component = root
    direct = {canonicalize_name(Requirement(text).name) for text in declared}
    bill.register_dependency(root, [*(packages[name] for name in sorted(direct & packages.keys())), *archives])
    for name, component in packages.items():
        needs = every[name] | runtime.get(name, set())
        bill.register_dependency(component, [packages[other] for other in sorted(needs & packages.keys())])
    # The same installation has the same number.
    content = "\n".join(sorted(f"{each.purl or each.name} {each.version}" for each in bill.components))
    bill.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"{root.name} {root.version}\n{content}")
    return bill


def _declared(project: Mapping[str, object]) -> list[str]:
    """Return the requirements that the project and its extras declare."""
    extras = project.get("optional-dependencies", {})
    return [*_texts(project.get("dependencies", [])), *(text for each in _tables(extras) for text in each)]


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _tables(value: object) -> list[list[str]]:
    return [_texts(each) for each in value.values()] if isinstance(value, dict) else []


def _package(locked: Locked, said: Installed | None, inside: Iterable[Jar], *, at_run_time: bool) -> Component:
    purl = PackageURL("pypi", None, locked.name, locked.version)
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        comment="One of the files with these digests was installed.",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in locked.digests],
    )
    return Component(
        name=locked.name,
        version=locked.version,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=str(purl),
        scope=ComponentScope.REQUIRED if at_run_time else ComponentScope.EXCLUDED,
        licenses=_licences(said.licence if said else ""),
        external_references=[files],
        components=[_archive(jar, f"{purl}#") for jar in inside],
    )


def _archive(jar: Jar, within: str = "") -> Component:
    purl = PackageURL("maven", jar.group, jar.name, jar.version, {"type": "jar"}) if jar.group else None
    return Component(
        name=jar.name,
        group=jar.group or None,
        version=jar.version or None,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=f"{within}{jar.file}",
        scope=ComponentScope.REQUIRED,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=jar.digest)],
        properties=[Property(name="sluice:file", value=jar.file)],
    )


def _licences(said: str) -> list[License]:
    return [LicenseFactory().make_from_string(said)] if said else []


def written(bill: Bom) -> str:
    """Return the bill as CycloneDX JSON."""
    return str(make_outputter(bill, OutputFormat.JSON, VERSION).output_as_string(indent=2))


def bill_of_this_project() -> Bom:
    """Return the bill of this repository and its environment."""
    locked = {each for lock in LOCKS for each in read_lock((ROOT / "requirements" / lock).read_text(), lock)}
    jars = read_jars((JARS / "ivy.xml").read_text(encoding="utf-8"), (JARS / "jars.sha256").read_text(encoding="utf-8"))
    spark = Path(str(metadata.distribution("pyspark").locate_file("pyspark"))) / "jars"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {each.name: what_is_installed(each.name, each.version) for each in locked}
    return bill_of(locked, jars, {"pyspark": jars_inside(spark)}, project, installed)


def main(arguments: list[str]) -> None:
    """Write the bill into a file."""
    parser = argparse.ArgumentParser(description="Write the software bill of materials as CycloneDX JSON.")
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args(arguments).file
    bill = bill_of_this_project()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written(bill), encoding="utf-8")
    nested = sum(len(each.components) for each in bill.components)
    sys.stdout.write(f"{file}: {len(bill.components)} components, and {nested} jars inside of them.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
