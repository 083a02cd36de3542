"""`sluice alerts`: the journal of alerts and their delivery. It needs neither a running Airflow nor Kafka."""

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
from sluice.cli.terminal.airflow import airflow_variables
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out, out_lines
from sluice.clock import Clock, SystemClock
from sluice.errors import NotReadyError, SluiceError, SpecError
from sluice.settings import Settings, settings
from sluice.specs.model.alerting import AlertClass, Channel

_DEADLINE_SECONDS = 120
"""For Airflow's start on a busy machine, and one delivery."""

_MAX_CHARACTERS = 200
"""The longest reason in the list."""

_STYLES = {DeliveryOutcome.DELIVERED: "green", DeliveryOutcome.FAILED: "red", DeliveryOutcome.HELD: "yellow"}

app = typer.Typer(help="List alerts and their delivery; test the delivery.", invoke_without_command=True)


@app.callback()
def alerts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The number of alerts, newest first.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the alerts, newest first.

    Exit codes: 0; 3 the journal cannot be read; 4 another process keeps it locked.
    """
    if context.invoked_subcommand is not None:
        return
    history = _journal().read()
    newest = list(history.alerts)[-limit:][::-1]
    data = {"alerts": [_as_dict(alert, history) for alert in newest], "notes": list(history.notes)}
    emit(output, data, lambda: _print_alerts(newest, history))


@app.command("open")
def open_(output: OutputOption = Output.TABLE) -> None:
    """List the incidents that are not over, with their alerts sent or due.

    Exit codes: 0; 3 the journal cannot be read; 4 another process keeps it locked.
    """
    incidents = list(open_incidents(_journal().read()).values())
    policy = read_policy(settings().home / "include", settings().deployment)
    open_now = [incident_as_dict(incident, policy) for incident in incidents]
    emit(output, {"open": open_now, "policy": policy.note}, lambda: _print_incidents(open_now, policy.note))


def incident_as_dict(incident: Incident, policy: Policy) -> dict[str, Any]:
    """Return an incident as JSON values: since when, how its delivery ended, and its channels."""
    newest, outcome = incident.newest, incident.outcome(incident.undelivered or incident.newest)
    notified = "unknown" if outcome is None else outcome.value
    if incident.notified_at is not None:
        notified = f"{incident.notified_at:%Y-%m-%d %H:%M}"
    return {
        "subject": newest.concerns,
        "class": newest.alert_class.value,
        "since": incident.since.isoformat(sep=" "),
        "what": newest.what,
        "alerts": [alert.id for alert in incident.alerts],
        "notified": notified,
        "notified_at": None if incident.notified_at is None else incident.notified_at.isoformat(),
        "channels": list(policy.rule_of(newest).notify),
    }


@app.command()
def show(
    alert_id: Annotated[
        str,
        typer.Argument(autocompletion=completion.alerts, help="An id that `sluice alerts` lists, or its beginning."),
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show everything about one alert.

    Exit codes: 0; 2 no alert, or more than one, has this id.
    """
    history = _journal().read()
    alert = find_alert(history, alert_id)
    emit(output, _as_dict(alert, history), lambda: _print_alert(alert, history))


@app.command("test")
def try_delivery(
    channel: Annotated[
        str,
        typer.Option(
            "--channel",
            "-c",
            autocompletion=completion.channels,
            help="A channel of the policy. Default: those of its last rule.",
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send a test alert like a real one, and report its delivery.

    Exit codes: 0 every service accepted it; 1 at least one did not; 2 the channel does not exist; 3 no service is
    configured.
    """
    journal, clock = _journal(), SystemClock()
    alert = _test_alert(clock)
    journal.append(alert)
    policy = read_policy(settings().home / "include", settings().deployment)
    outcome, detail = deliver_in_airflow(alert, _selected_channels(policy, channel), settings())
    delivery = Delivery(alert.id, clock.now(), outcome, detail)
    journal.append(delivery)
    data = {**alert.as_dict(), "delivery": delivery.as_dict()}
    delivered = outcome is DeliveryOutcome.DELIVERED
    emit(output, data, lambda: out_lines.print(f"Alert {alert.id}: {detail}") if delivered else None)
    match outcome:
        case DeliveryOutcome.NOT_CONFIGURED:
            raise NotReadyError(
                f"Alert {alert.id} is only in the journal: {detail}",
                fix="add a connection; `sluice docs alerts` shows how, for mail, Slack and webhooks.",
            )
        case DeliveryOutcome.FAILED:
            raise SluiceError(f"Alert {alert.id}: {detail}", fix="correct the connection (`sluice docs alerts`).")


def find_alert(history: AlertHistory, alert_id: str) -> Alert:
    """Return the alert whose id begins with `alert_id`.

    Raises:
        SpecError: no alert or several alerts do.
    """
    matching = [alert for alert in history.alerts if alert_id and alert.id.startswith(alert_id)]
    if len(matching) != 1:
        what = f"{len(matching)} alerts begin" if matching else "No alert begins"
        raise SpecError(f"{what} with {alert_id!r}.", fix="use an id that `sluice alerts` lists.")
    return matching[0]


def _selected_channels(policy: Policy, name: str) -> list[Channel]:
    """Return the channel of a name, or those of the policy's last rule.

    Raises:
        SpecError: the policy has no channel of that name.
    """
    spec = policy.spec
    names = [name] if name else list(spec.rules[-1].notify) or list(spec.channels)
    if unknown := [each for each in names if each not in spec.channels]:
        raise SpecError(
            f"The alert policy has no channel {unknown[0]!r}.", fix=f"use one of {', '.join(spec.channels)}."
        )
    return [spec.channels[each] for each in names]


def deliver_in_airflow(alert: Alert, channels: Sequence[Channel], config: Settings) -> tuple[DeliveryOutcome, str]:
    """Deliver an alert in a process with Airflow's configuration, which can read its connections.

    That is the configuration of the embedded stack, running or not, or the one that this process's variables name.

    Raises:
        NotReadyError: the process failed or took too long.
    """
    variables = airflow_variables(config)
    if not variables:
        reason = "there is no Airflow: neither an embedded one (`sluice up`) nor AIRFLOW_HOME."
        return DeliveryOutcome.NOT_CONFIGURED, reason
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sluice.airflow.alerts.delivery"],
            input=json.dumps({"alert": alert.as_dict(), "channels": [c.model_dump(mode="json") for c in channels]}),
            env=variables,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_SECONDS,
            check=True,
        )
        finding: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
        return DeliveryOutcome(finding["outcome"]), finding["detail"]
    except (subprocess.SubprocessError, LookupError, ValueError) as error:
        raise NotReadyError(
            f"Airflow did not return its connections: {type(error).__name__}.",
            fix="check that `airflow connections list` works.",
        ) from error


def _journal() -> Journal:
    return Journal(settings().folder.alerts)


def _as_dict(alert: Alert, history: AlertHistory) -> dict[str, Any]:
    delivery = history.deliveries.get(alert.id)
    return {**alert.as_dict(), "delivery": None if delivery is None else delivery.as_dict()}


def _print_alerts(newest: list[Alert], history: AlertHistory) -> None:
    out.print(_table(newest, history) if newest else "No alerts.")
    for note in history.notes:
        err_lines.print(note, style="yellow")


def _print_incidents(incidents: list[dict[str, Any]], note: str) -> None:
    if note:
        err_lines.print(note, style="yellow")
    if not incidents:
        out.print("Nothing is open.")
        return
    table = Table(
        "subject", Column("class", no_wrap=True), Column("since (UTC)", no_wrap=True), "what", "notified", "channels"
    )
    for each in incidents:
        notified = escape(each["notified"]) if each["notified_at"] else f"[yellow]{escape(each['notified'])}[/]"
        names = ", ".join(each["channels"]) or "none"
        table.add_row(
            escape(each["subject"]), each["class"], each["since"][:16], escape(each["what"]), notified, escape(names)
        )
    out.print(table)


def _print_alert(alert: Alert, history: AlertHistory) -> None:
    delivery = history.deliveries.get(alert.id)
    out_lines.print(alert.what, style="bold")
    out_lines.print(f"\n{alert.text()}")
    outcome = ("unknown",) if delivery is None else (delivery.outcome, delivery.detail)
    out_lines.print(f"\nDelivery: {': '.join(filter(None, outcome))}")


def _table(newest: list[Alert], history: AlertHistory) -> Table:
    table = Table(Column("alert", no_wrap=True), Column("at (UTC)", no_wrap=True), "what", "why")
    table.add_column("delivery", no_wrap=True)
    for alert in newest:
        delivery = history.deliveries.get(alert.id)
        word = "unknown" if delivery is None else delivery.outcome.value
        style = "yellow" if delivery is None else _STYLES.get(delivery.outcome, "")
        reason = alert.why.partition("\n")[0][:_MAX_CHARACTERS]
        styled = f"[{style}]{word}[/]" if style else word
        table.add_row(alert.id, f"{alert.at:%Y-%m-%d %H:%M:%S}", escape(alert.what), escape(reason), styled)
    return table


def _test_alert(clock: Clock) -> Alert:
    return Alert(
        id=secrets.token_hex(4),
        at=clock.now(),
        level=Level.TEST,
        what="This is a test of Sluice's alerts",
        why="`sluice alerts test` was run. Nothing has failed.",
        evidence=(f"deployment: {settings().deployment}",),
        where="",
        what_to_do="Nothing: this alert has reached you, so others will.",
        host=socket.gethostname(),
        alert_class=AlertClass.TEST,
    )
