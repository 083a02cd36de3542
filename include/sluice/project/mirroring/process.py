"""The process of a mirror: `python -m sluice.project.mirroring.process NAME` becomes MirrorMaker 2 (dedicated mode).

It writes what MirrorMaker reads, in files that no other user may read, and is then replaced by Java: whoever started it
watches, stops and sees the end of that very process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from sluice.devstack.jars import own_jar
from sluice.devstack.kafka.java import FIX, find_java, java_fault
from sluice.devstack.kafka.properties import property_value
from sluice.errors import NotConfiguredError, NotReadyError, SluiceError
from sluice.kafka.client.credentials import BY_TOKEN, TOKEN_ENDPOINT
from sluice.kafka.client.java_client import java_options, java_settings
from sluice.launch.private import write_private
from sluice.mirrors.configuration import MirrorEnd, maker_settings
from sluice.project.mirroring.mirrors import ProjectMirrors
from sluice.project.project import Project
from sluice.settings import environment, settings
from sluice.streams.failures.exits import ExitCode

_LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = OUT
logger.maker.name = org.apache.kafka.connect.mirror
logger.maker.level = info
"""


def prepared(project: Project, name: str) -> list[str]:
    """Write the files of a mirror, and return the command that runs it.

    Raises:
        SpecError: there is no such mirror.
        NotReadyError: Java or a jar is missing, a password is not set, or an embedded cluster is not up.
    """
    mirrors = ProjectMirrors(project)
    spec, folder = mirrors.spec(name), project.folder.mirror(name)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    source, target = (
        MirrorEnd(deployment, kafka.bootstrap(), java_settings(kafka.client()))
        for deployment in (spec.source, spec.target)
        for kafka in (mirrors.kafka(deployment),)
    )
    secrets, file, logging = (
        folder / each for each in ("secrets.properties", "mirror.properties", "log4j2.properties")
    )
    replication = spec.replication or project.catalog.deployments[spec.target].replication
    told = maker_settings(spec, mirrors.patterns(name), source, target, replication=replication, secrets=str(secrets))
    for path, values in ((secrets, told.secrets), (file, told.properties)):
        write_private(path, "".join(f"{key}={property_value(value)}\n" for key, value in values.items()))
    write_private(logging, _LOGGING)
    return [*_java(project, spec.heap, logging, (source, target)), str(file)]


def _java(project: Project, heap: str, logging: Path, ends: tuple[MirrorEnd, ...]) -> list[str]:
    home = environment().get("JAVA_HOME", "")
    java, jars = find_java(home), project.settings.jars
    if (fault := java_fault(java, home)) or java is None:
        raise NotReadyError(f"MirrorMaker cannot run: {fault}.", fix=FIX)
    own = own_jar(project.settings)
    if own.missing() or not any((jars / "kafka").glob("connect-mirror-*.jar")):
        raise NotReadyError(f"the jars of MirrorMaker are not in {jars}.", fix="run `make setup`.")
    return [
        java.path,
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        *_tokens(ends),
        "-cp",
        f"{jars / 'kafka'}/*:{own.path}",
        "sluice.kafka.Mirror",
    ]


def _tokens(ends: tuple[MirrorEnd, ...]) -> list[str]:
    """Return the option of a JVM whose clients ask for tokens; it lists all addresses."""
    asked = [str(end.client[TOKEN_ENDPOINT]) for end in ends if _by_token(end.client)]
    return [java_options(",".join(dict.fromkeys(asked)))] if asked else []


def _by_token(client: Mapping[str, str]) -> bool:
    return client.get("sasl.mechanism") == BY_TOKEN and TOKEN_ENDPOINT in client


def main(name: str) -> NoReturn:
    """Become MirrorMaker, or say why not and exit."""
    try:
        command = prepared(Project.open_tolerant(settings()), name)
    except SluiceError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(ExitCode.CONFIGURATION if isinstance(error, NotConfiguredError) else ExitCode.FAILED)
    os.execv(command[0], command)  # noqa: S606  no shell: the arguments are ours


if __name__ == "__main__":
    main(sys.argv[1])
