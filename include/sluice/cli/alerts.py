"""`sluice alerts`: what failed, and whether somebody was told. It needs neither Airflow nor Kafka to run."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, Delivery, DeliveryOutcome
from sluice.alerts.incidents import Incident, open_incidents
from sluice.alerts.journal import Journal
from sluice.alerts.policy import Policy, read_policy
from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, err, out, print_data
from sluice.clock import Clock, SystemClock
from sluice.devstack.airflow.configuration import stack_environment
from sluice.errors import NotReadyError, SluiceError, SpecError
from sluice.settings import Settings, environment, settings
from sluice.specs.model.alerting import AlertClass, Channel

_DEADLINE_SECONDS = 120
"""For Airflow's own start, on a busy machine, and a delivery."""

_MOST_CHARACTERS = 200
"""Of a reason in the list."""

_STYLES = {DeliveryOutcome.DELIVERED: "green", DeliveryOutcome.FAILED: "red", DeliveryOutcome.HELD: "yellow"}

app = typer.Typer(help="What failed, and whether somebody was told.", invoke_without_command=True)


@app.callback()
def alerts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many of the newest.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the alerts, newest first.

    Exit codes: 0; 3 the journal cannot be read; 4 another process keeps it locked.
    """
    if context.invoked_subcommand is not None:
        return
    history = _journal().read()
    newest = list(history.alerts)[-limit:][::-1]
    if output.for_programs:
        print_data(output, {"alerts": [_as_dict(alert, history) for alert in newest], "notes": list(history.notes)})
        return
    if not newest:
        out.print("No alerts.")
    else:
        out.print(_table(newest, history))
    for note in history.notes:
        err.print(note, style="yellow", markup=False, soft_wrap=True)


@app.command("open")
def open_(output: OutputOption = Output.TABLE) -> None:
    """List what lasts: what was told, or is to be told, and is not over.

    Exit codes: 0; 3 the journal cannot be read; 4 another process keeps it locked.
    """
    incidents = list(open_incidents(_journal().read()).values())
    policy = read_policy(settings().home / "include", settings().deployment)
    if output.for_programs:
        print_data(output, {"open": [incident_as_dict(each, policy) for each in incidents], "policy": policy.note})
        return
    if policy.note:
        err.print(policy.note, style="yellow", markup=False, soft_wrap=True)
    if not incidents:
        out.print("Nothing is open.")
        return
    table = Table("subject", Column("class", no_wrap=True), Column("since (UTC)", no_wrap=True), "what", "told", "by")
    for each in incidents:
        found = incident_as_dict(each, policy)
        told = escape(found["told"]) if found["told_at"] else f"[yellow]{escape(found['told'])}[/]"
        names = ", ".join(found["channels"]) or "nobody"
        table.add_row(
            escape(found["subject"]), found["class"], found["since"][:16], escape(found["what"]), told, escape(names)
        )
    out.print(table)


def incident_as_dict(incident: Incident, policy: Policy) -> dict[str, Any]:
    """Return an incident as JSON values: since when, whether somebody knows, and who is told."""
    newest, outcome = incident.newest, incident.outcome(incident.newest)
    told = "no outcome on record" if outcome is None else outcome.value
    if incident.notified_at is not None:
        told = f"{incident.notified_at:%Y-%m-%d %H:%M}"
    return {
        "subject": newest.concerns,
        "class": newest.alert_class.value,
        "since": incident.since.isoformat(sep=" "),
        "what": newest.what,
        "alerts": [alert.id for alert in incident.alerts],
        "told": told,
        "told_at": None if incident.notified_at is None else incident.notified_at.isoformat(),
        "channels": list(policy.rule_of(newest).tell),
    }


@app.command()
def show(
    alert_id: Annotated[
        str,
        typer.Argument(
            autocompletion=completion.alerts, help="One of those that `sluice alerts` lists; its beginning suffices."
        ),
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show everything about one alert.

    Exit codes: 0; 2 there is no such alert, or more than one.
    """
    history = _journal().read()
    alert = choose(history, alert_id)
    if output.for_programs:
        print_data(output, _as_dict(alert, history))
        return
    out.print(alert.what, style="bold", markup=False, soft_wrap=True)
    out.print(f"\n{alert.text()}", markup=False, soft_wrap=True)
    out.print(f"\nDelivery: {_delivery(alert, history)}", markup=False, soft_wrap=True)


@app.command("test")
def try_delivery(
    channel: Annotated[
        str,
        typer.Option(
            "--channel",
            "-c",
            autocompletion=completion.channels,
            help="One of the policy's. Omitted: those that its last rule tells.",
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send an alert on purpose, the way of a real one, and say what became of it.

    Exit codes: 0 every service took it; 1 at least one did not; 2 there is no such channel; 3 none is configured.
    """
    journal, clock = _journal(), SystemClock()
    alert = _test_alert(clock)
    journal.append(alert)
    policy = read_policy(settings().home / "include", settings().deployment)
    outcome, detail = deliver_in_airflow(alert, _asked_channels(policy, channel), settings())
    delivery = Delivery(alert.id, clock.now(), outcome, detail)
    journal.append(delivery)
    if output.for_programs:
        print_data(output, {**alert.as_dict(), "delivery": delivery.as_dict()})
    match outcome:
        case DeliveryOutcome.DELIVERED if output is Output.TABLE:
            out.print(f"Alert {alert.id}: {detail}", markup=False, soft_wrap=True)
        case DeliveryOutcome.NOT_CONFIGURED:
            raise NotReadyError(
                f"Alert {alert.id} is in the journal only: {detail}",
                fix="add it, as docs/alerts.md shows for mail, Slack and webhooks.",
            )
        case DeliveryOutcome.FAILED:
            raise SluiceError(f"Alert {alert.id}: {detail}", fix="correct the connection; docs/alerts.md has examples.")


def choose(history: AlertHistory, alert_id: str) -> Alert:
    """Return the alert whose id begins so.

    Raises:
        SpecError: there is none, or there are several.
    """
    found = [alert for alert in history.alerts if alert_id and alert.id.startswith(alert_id)]
    if len(found) != 1:
        what = f"{len(found)} alerts begin" if found else "No alert begins"
        raise SpecError(f"{what} with {alert_id!r}.", fix="name one that `sluice alerts` lists.")
    return found[0]


def _asked_channels(policy: Policy, name: str) -> list[Channel]:
    """Return the channel of a name, or those of the policy's last rule.

    Raises:
        SpecError: there is none.
    """
    spec = policy.spec
    names = [name] if name else list(spec.rules[-1].tell) or list(spec.channels)
    if unknown := [each for each in names if each not in spec.channels]:
        raise SpecError(
            f"The alert policy has no channel {unknown[0]!r}.", fix=f"name one of {', '.join(spec.channels)}."
        )
    return [spec.channels[each] for each in names]


def deliver_in_airflow(alert: Alert, channels: Sequence[Channel], place: Settings) -> tuple[DeliveryOutcome, str]:
    """Deliver an alert in a process with Airflow's configuration, where its connections can be read.

    That is the embedded stack's, whether or not it is up, or the one that this process's variables name.

    Raises:
        NotReadyError: that process could not be run to its end.
    """
    embedded = (place.folder.airflow / "airflow.cfg").is_file()
    variables = stack_environment(place) if embedded else environment()
    if "AIRFLOW_HOME" not in variables:  # Airflow would make itself a home in the user's
        return (
            DeliveryOutcome.NOT_CONFIGURED,
            "there is no Airflow here: neither an embedded one (`sluice up`) nor AIRFLOW_HOME.",
        )
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sluice.airflow.alerts.delivery"],
            input=json.dumps(
                {"alert": alert.as_dict(), "channels": [each.model_dump(mode="json") for each in channels]}
            ),
            env={**variables, "_AIRFLOW_PROCESS_CONTEXT": "server"},  # or Airflow would not ask its own database
            capture_output=True,
            text=True,
            timeout=_DEADLINE_SECONDS,
            check=True,
        )
        finding: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
        return DeliveryOutcome(finding["outcome"]), finding["detail"]
    except (subprocess.SubprocessError, LookupError, ValueError) as error:
        raise NotReadyError(
            f"Airflow could not be asked for its connection: {type(error).__name__}.",
            fix="see whether `airflow connections list` works.",
        ) from error


def _journal() -> Journal:
    return Journal(settings().folder.alerts)


def _as_dict(alert: Alert, history: AlertHistory) -> dict[str, Any]:
    delivery = history.deliveries.get(alert.id)
    return {**alert.as_dict(), "delivery": None if delivery is None else delivery.as_dict()}


def _delivery(alert: Alert, history: AlertHistory) -> str:
    delivery = history.deliveries.get(alert.id)
    return "no outcome on record" if delivery is None else f"{delivery.outcome}: {delivery.detail}"


def _table(newest: list[Alert], history: AlertHistory) -> Table:
    table = Table(Column("alert", no_wrap=True), Column("at (UTC)", no_wrap=True), "what", "why")
    table.add_column("delivery", no_wrap=True)
    for alert in newest:
        delivery = history.deliveries.get(alert.id)
        word = "unknown" if delivery is None else delivery.outcome.value
        style = "yellow" if delivery is None else _STYLES.get(delivery.outcome, "")
        first_line = alert.why.splitlines()[0] if alert.why else ""
        table.add_row(
            alert.id,
            f"{alert.at:%Y-%m-%d %H:%M:%S}",
            escape(alert.what),
            escape(first_line[:_MOST_CHARACTERS]),
            f"[{style}]{word}[/]" if style else word,
        )
    return table


def _test_alert(clock: Clock) -> Alert:
    return Alert(
        id=secrets.token_hex(4),
        at=clock.now(),
        level=Level.TEST,
        what="This is a test of Sluice's alerts",
        why="Somebody ran `sluice alerts test`. Nothing has failed.",
        evidence=(f"deployment: {settings().deployment}",),
        where="",
        what_to_do="Nothing. You see this, so alerts reach you.",
        host=socket.gethostname(),
        alert_class=AlertClass.TEST,
    )
