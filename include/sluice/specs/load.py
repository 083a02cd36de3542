"""From files to a catalog: `load_catalog` refuses any fault, `scan` keeps the sound specs beside the broken ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from sluice.errors import SpecError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.expectations.model import ExpectationsSpec
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.access import PrincipalSpec
from sluice.specs.model.alerting import AlertPolicySpec
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.spec import Spec
from sluice.specs.model.topic_shape import AbsentTopic
from sluice.specs.reading.diagnosis import read_spec
from sluice.specs.reading.document import Document, Parse, parse_document, read_document
from sluice.specs.reading.faults import Fault, SpecFaults
from sluice.specs.reading.kinds import Key, Kind
from sluice.specs.reading.reading import Reading, Rule, SpecReference
from sluice.specs.rules.access_rules import undecided_principals
from sluice.specs.rules.contracts import FOLDER
from sluice.specs.rules.rules import RULES, TOPIC_KEYS, deployment_exists
from sluice.specs.rules.suites import doubtful_suites
from sluice.specs.rules.table_rules import table_references


@dataclass(frozen=True)
class Scan:
    """What the specs of a project say, as far as they are sound.

    Attributes:
        catalog: the sound specs; every reference in it resolves within it.
        faults: all faults of all files, ordered; empty means that all is well.
        broken: the specs that are not in the catalog, by kind and file stem, each with the faults that keep it out:
            its own, or those of the topic or pipeline that it names; of a principal, those of any spec that could say
            what it needs.
        dependants: those of them that have no fault of their own, each with the faults that it waits for.
    """

    catalog: Catalog
    faults: tuple[Fault, ...] = ()
    broken: Mapping[Key, tuple[Fault, ...]] = field(default_factory=dict)
    dependants: Mapping[Key, tuple[Fault, ...]] = field(default_factory=dict)

    def pipeline(self, name: str) -> PipelineSpec:
        """Return a pipeline; other specs may be broken.

        Raises:
            SpecError: there is no such pipeline, or it is broken (with all its faults).
        """
        if name in self.catalog.pipelines:
            return self.catalog.pipelines[name]
        self.refuse_broken(Kind.PIPELINE, name)
        names = sorted({*self.catalog.pipelines, *(stem for kind, stem in self.broken if kind is Kind.PIPELINE)})
        raise SpecError(
            f"there is no pipeline {name!r}; the specs have {', '.join(names) or 'none'}.", fix="name one of these."
        )

    def refuse_broken(self, kind: Kind, name: str) -> None:
        """Raise SpecFaults, with the faults that keep it out of the catalog, if a spec is broken."""
        if faults := self.broken.get((kind, name)):
            raise SpecFaults(faults)


def load_catalog(include: Path, *, deployment: str | None = None) -> Catalog:
    """Read all specs below `include`.

    Args:
        include: the folder with `topics/`, `pipelines/`, `feeds/`, `deployments/`, `expectations/`,
            `access/`, `alerts/`, `mirrors/`.
        deployment: a deployment that must exist; None asks for none.

    Raises:
        SpecFaults: with all faults of all files.
    """
    scanned = scan(include, deployment=deployment)
    if scanned.faults:
        raise SpecFaults(scanned.faults)
    return scanned.catalog


def scan(
    include: Path,
    *,
    deployment: str | None = None,
    rules: Iterable[Rule] = RULES,
    parse: Parse = parse_document,
    kinds: Collection[Kind] = tuple(Kind),
    unwritten: Mapping[Key, Document] = MappingProxyType({}),
) -> Scan:
    """Read all specs below `include` and keep the sound ones, so that one broken spec stops no other.

    Args:
        include: see `load_catalog`.
        deployment: see `load_catalog`.
        rules: what must hold between specs; a caller with time for it adds rules of adapters.
        parse: reads the bytes of a file; see `sluice.specs.reading.memo`.
        kinds: what is read; a spec that names one of another kind lacks it. Without suites the catalog names no gate.
        unwritten: specs that are no files yet, to see whether they would be sound beside the others.
    """
    include = include.resolve()
    documents, strays = _read(include, parse, kinds)
    documents.update(unwritten)
    specs, broken = _read_alone(documents, include)
    reading = Reading(include.parent, include, _catalog(specs), documents, kinds)
    for finding in chain.from_iterable(rule(reading) for rule in rules):
        broken[finding.key].add(finding.fault)
    faults = {*strays, *(fault for own in broken.values() for fault in own)}
    if deployment is not None:
        faults.update(deployment_exists(reading, deployment))
    unusable = {key: tuple(sorted(own)) for key, own in broken.items() if own}
    _add_dependents(unusable, reading)
    unusable.update(undecided_principals(unusable, strays, [key for key in specs if key[0] is Kind.PRINCIPAL]))
    sound = _catalog({key: spec for key, spec in specs.items() if key not in unusable})
    doubtful = doubtful_suites(reading, unusable, strays) if Kind.SUITE in kinds else _UNREAD_SUITES
    users = {name: spec for name, spec in reading.catalog.access.items() if not broken[Kind.PRINCIPAL, name]}
    catalog = replace(sound, doubtful_suites=doubtful, users=users)
    dependants = {key: why for key, why in unusable.items() if not broken[key]}
    return Scan(catalog, tuple(sorted(faults)), MappingProxyType(unusable), MappingProxyType(dependants))


def _read_alone(
    documents: Mapping[Key, Document], include: Path
) -> tuple[dict[Key, Spec], defaultdict[Key, set[Fault]]]:
    """Return the specs that stand by themselves, and the faults of all documents before any rule was applied."""
    specs: dict[Key, Spec] = {}
    broken: defaultdict[Key, set[Fault]] = defaultdict(set)
    for key, document in documents.items():
        outcome = read_spec(key[0].model_of(document.data), document) if document.data is not None else ()
        if isinstance(outcome, tuple):
            broken[key].update(outcome)
        else:
            specs[key] = _with_schemas(outcome, include)
        broken[key].update(document.faults)
    return specs, broken


def _with_schemas(spec: Spec, include: Path) -> Spec:
    """Return a topic's spec with the schemas that its values are written under: a decoder needs no folder."""
    if not isinstance(spec, TopicSpec):
        return spec
    value = spec.value.with_schemas(include / FOLDER / spec.name)
    return spec if value is spec.value else spec.model_copy(update={"value": value})


_UNREAD_SUITES: Mapping[str, str | None] = {"include/expectations (not read)": None}


def _read(include: Path, parse: Parse, kinds: Collection[Kind]) -> tuple[dict[Key, Document], list[Fault]]:
    """Return every spec file as a document, and a fault for every file that would silently be no spec."""
    documents: dict[Key, Document] = {}
    strays: list[Fault] = []
    if not include.is_dir():
        fix = "run this inside a project; `sluice init DIR` writes a new one."
        strays.append(Fault(include.name, 1, "", "there is no such folder.", fix))
    for kind in kinds:
        for path in _entries(include / kind.folder):
            file = f"{include.name}/{kind.folder}/{path.name}"
            if path.suffix == ".yaml" and path.is_file():
                documents[kind, path.stem] = read_document(path, file, parse)
            else:
                strays.append(Fault(file, 1, "", f"is no {kind} spec.", "name it <name>.yaml, or move it away."))
    return documents, strays


def _entries(folder: Path) -> Iterator[Path]:
    """Yield what lies in a folder, without hidden files and notes for readers."""
    if folder.is_dir():
        yield from sorted(p for p in folder.iterdir() if not p.name.startswith(".") and p.suffix != ".md")


def _catalog(specs: Mapping[Key, Spec]) -> Catalog:
    """Sort specs into a catalog, by file stem."""
    return Catalog(
        topics={name: spec for (_, name), spec in specs.items() if isinstance(spec, TopicSpec)},
        absent={name: spec for (_, name), spec in specs.items() if isinstance(spec, AbsentTopic)},
        pipelines={name: spec for (_, name), spec in specs.items() if isinstance(spec, PipelineSpec)},
        feeds={name: spec for (_, name), spec in specs.items() if isinstance(spec, FeedSpec)},
        deployments={name: spec for (_, name), spec in specs.items() if isinstance(spec, DeploymentSpec)},
        expectations={name: spec for (_, name), spec in specs.items() if isinstance(spec, ExpectationsSpec)},
        access={name: spec for (_, name), spec in specs.items() if isinstance(spec, PrincipalSpec)},
        alerts={name: spec for (_, name), spec in specs.items() if isinstance(spec, AlertPolicySpec)},
        mirrors={name: spec for (_, name), spec in specs.items() if isinstance(spec, MirrorSpec)},
    )


def _add_dependents(unusable: dict[Key, tuple[Fault, ...]], reading: Reading) -> None:
    """Add those specs to the unusable ones that name some of them."""
    for kind, paths in TOPIC_KEYS.items():
        unusable.update(_dependents(reading.references(kind, *paths), Kind.TOPIC, unusable))
    while behind := _dependents(table_references(reading), Kind.PIPELINE, unusable):  # of one table after the other
        unusable.update(behind)
    unusable.update(_dependents(reading.references(Kind.SUITE, ("pipeline",)), Kind.PIPELINE, unusable))
    unusable.update(_dependents(reading.references(Kind.MIRROR, ("source",), ("target",)), Kind.DEPLOYMENT, unusable))


def _dependents(
    references: Iterable[SpecReference], kind: Kind, broken: Mapping[Key, tuple[Fault, ...]]
) -> dict[Key, tuple[Fault, ...]]:
    """Return the specs that are sound by themselves and name broken ones of a kind, with the faults of these."""
    faults: defaultdict[Key, set[Fault]] = defaultdict(set)
    for named in references:
        if named.owner not in broken:
            faults[named.owner].update(broken.get((kind, named.name), ()))
    return {key: tuple(sorted(own)) for key, own in faults.items() if own}
