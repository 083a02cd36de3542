"""The person in the DAG `topics`: a page with the plan in Airflow's UI, and the answer that was given there.

The answer carries the id of the plan that was on the page, so it stands for what was read. What the run has planned
does not suffice: Airflow keeps the page of a task that is cleared, and asks by it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.sdk import Context, Param
from airflow.sdk.definitions.param import ParamsDict
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from sluice.airflow.topics.approval_call import call, settle
from sluice.airflow.topics.topic_plans import HEADER, Impacts, rows, unable_rows
from sluice.airflow.web.markdown import as_text, table
from sluice.audit.recording import remark
from sluice.clock import SystemClock
from sluice.errors import RefusedError
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import is_principal
from sluice.provisioning.plans.plan import Plan
from sluice.wording import counted

MAX_SAFE = 50
"""Rows of what is safe on the page; what needs approval is there in full."""

WAIT_HOURS = 24
_CHOICE = (
    "**Approve** applies exactly this plan, or nothing if specs or cluster have changed by then. "
    "**Reject** applies nothing."
)
AGAIN = "trigger the DAG `topics` again"


def needs_approval(plan: Plan) -> bool:
    """Whether a plan can be applied, and only with an approval: what is refused cannot be approved."""
    return bool(plan.guarded) and not plan.refused


def page_of(plan: Plan, impacts: Impacts) -> dict[str, Any] | None:
    """Return what is asked of a person, as JSON values; None if nothing is.

    They are the plan's id, the names to be typed (`losing` and `widening`), and what is shown (`subject`, and `body`
    as Markdown).
    """
    if not needs_approval(plan):
        return None
    total, guarded = len(plan.changes), len(plan.guarded)
    shown = rows(plan)[: guarded + MAX_SAFE]
    hidden = total - len(shown)
    parts = [
        f"{counted(total, 'change')} to {_subjects(plan)}. {_count(guarded, total)} a person who has read this.",
        table(HEADER, shown),
        f"And {hidden} more that are safe: the log of `plan` has them." if hidden else "",
        _unable(plan),
        *(_impact(topic, value, clauses) for (topic, value), clauses in impacts.items()),
        _losing(plan),
        _widening(plan),
        _CHOICE,
    ]
    return {
        "plan": plan.id,
        "losing": list(plan.losing),
        "widening": list(plan.widening),
        "subject": f"Apply plan {plan.id} to {_subjects(plan)}?",
        "body": "\n\n".join(part for part in parts if part),
    }


def _unable(plan: Plan) -> str:
    if not plan.unable:
        return ""
    return f"Declared, and not done by any plan here:\n\n{table(HEADER, unable_rows(plan))}"


def _impact(topic: str, value: str, clauses: Sequence[str]) -> str:
    lines = [f"- {as_text(clause)}" for clause in clauses]
    return "\n".join([f"**{as_text(topic)}, {as_text(value)}** affects:", "", *lines]) if lines else ""


def _count(guarded: int, total: int) -> str:
    if guarded == total:
        return "It needs" if total == 1 else "All of them need"
    return "One of them needs" if guarded == 1 else f"{guarded} of them need"


def _losing(plan: Plan) -> str:
    if not plan.losing:
        return ""
    names = " ".join(f"**{as_text(name)}**" for name in plan.losing)
    return f"By this plan records may go for good. Who wants that types the names of the topics below: {names}"


def _widening(plan: Plan) -> str:
    if not plan.widening:
        return ""
    names = " ".join(f"**{as_text(name)}**" for name in plan.widening)
    return f"By this plan something is opened. Who wants that types the names of the principals below: {names}"


def _subjects(plan: Plan) -> str:
    principals = {is_principal(change.subject) for change in plan.changes}
    return " and ".join(name for name, there in (("topics", False), ("access", True)) if there in principals)


@dataclass(frozen=True)
class Answer:
    """What a user has approved.

    Attributes:
        plan: the id of the plan on the page; empty if the answer has none.
        losing: what was typed as the names of topics of which records may go.
        by: who it was.
        widening: what was typed as the names of principals by which something may be opened.
    """

    plan: str
    losing: str
    by: str
    widening: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Answer:
        """Read what `ask` returned."""
        plan, losing, widening = (str(given.get(name) or "") for name in ("plan", "losing", "widening"))
        return cls(plan, losing, str(given["by"]), widening)

    def approval(self, plan: Plan) -> Approval:
        """Return the approval of a plan.

        Raises:
            RefusedError: it is another plan than the one on the page, or what was typed is not what it takes.
        """
        if self.plan != plan.id:
            read = f"the plan {self.plan!r}" if self.plan else "no plan: the field `plan` was not sent"
            raise RefusedError(
                f"{self.by} has approved {read}. The specs or the cluster have changed since that page was made, so "
                f"nothing was applied. The plan is {plan.id} now: {plan or 'nothing to do'}.",
                fix=f"{AGAIN} and read the new page.",
            )
        typed = frozenset(name for name in re.split(r"[\s,]+", self.losing) if name)
        if typed != frozenset(plan.losing):
            expected = " ".join(plan.losing)
            raise RefusedError(
                f"{self.by} has approved the plan {plan.id} and typed {self.losing!r}. By that plan records of "
                f"{', '.join(plan.losing) or 'no topic'} may go, so {expected!r} was expected, and nothing was "
                "applied.",
                fix=f"if they may go, {AGAIN} and type exactly that; otherwise reject it.",
            )
        if not _is_all_of(self.widening, plan.widening):
            raise RefusedError(
                f"{self.by} has approved the plan {plan.id} and typed {self.widening!r}. By that plan something is "
                f"opened by {', '.join(plan.widening) or 'no right'}, so {' '.join(plan.widening)!r} was expected, and "
                "nothing was applied.",
                fix=f"if it may be, {AGAIN} and type exactly that; otherwise reject it.",
            )
        return Approval(self.plan, typed, frozenset(plan.widening))


class TopicApprovalOperator(ApprovalOperator):  # type: ignore[misc]  # the provider is not typed
    """Asks for approval of the plan that the task `plan` has made, and is skipped if that needs none.

    It waits without worker and trigger. A rejection skips the rest of the run; an answer that does not come in time
    fails it.
    """

    template_fields = ()
    """Nothing of the page is a template: the names on it are not ours."""

    def __init__(self, **arguments: Any) -> None:  # noqa: ANN401 - ApprovalOperator's
        # Both are replaced when the page is made; without a time to wait it would take the task's own limit for that.
        waiting = {"subject": "Apply a plan to the topics?", "response_timeout": timedelta(hours=WAIT_HOURS)}
        super().__init__(**{**waiting, **arguments})

    def execute(self, context: Context) -> None:
        """Put the page up and wait. It does not return.

        Raises:
            AirflowSkipException: nothing of the plan needs approval.
        """
        page = context["ti"].xcom_pull(task_ids="plan")["page"]
        if page is None:
            raise AirflowSkipException("Nothing of the plan needs approval.")
        self.subject, self.body, self.params = page["subject"], page["body"], _form(page)
        hours = float(context["params"]["wait_hours"])
        self.response_timeout = timedelta(hours=hours)
        self.log.info("Plan %s waits for an answer, at most %g hours.", page["plan"], hours)
        call(context, page["plan"], page["subject"], hours, SystemClock())
        super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Return what was approved, and by whom.

        Raises:
            AirflowFailException: no answer came in time.
        """
        asked = context["ti"].xcom_pull(task_ids="plan")["page"]["plan"]
        try:
            given = HITLOperator.execute_complete(self, context, event)
        except AirflowFailException as error:
            settle(context, asked, str(error), SystemClock())
            raise
        by = _name(given["responded_by_user"])
        approved = given["chosen_options"] == [self.APPROVE]
        self.log.info("%s by %s at %s.", "Approved" if approved else "Rejected", by, given["responded_at"])
        form = given["params_input"]
        answer = {
            "answer": "approved" if approved else "rejected",
            "plan": form.get("plan"),
            "losing": form.get("losing"),
            "widening": form.get("widening"),
            "by": by,
            "at": given["responded_at"].isoformat(),
        }
        settle(context, asked, f"{by} has {answer['answer']} it.", SystemClock())
        remark(f"{by} has {answer['answer']} plan {answer['plan']}")
        if not approved:
            context["ti"].xcom_push("return_value", answer)  # a task that skips others returns nothing
            self.skip(ti=context["ti"], tasks=self.get_flat_relatives(upstream=False))
        return answer

    def validate_params_input(self, params_input: Mapping[str, Any]) -> None:
        """Take what was sent: the form is not at hand when a task goes on, and `apply` checks every field."""

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        """Fail without another try, which would ask again."""
        if event["error_type"] == "timeout":
            raise AirflowFailException(
                f"No answer came in time, so nothing was applied. Fix: {AGAIN} if it is still wanted."
            )
        raise AirflowFailException(f"The answer cannot be used, so nothing was applied: {event['error']}")


def _form(page: Mapping[str, Any]) -> ParamsDict:
    plan = page["plan"]
    fields = {
        "plan": Param(plan, type="string", enum=[plan], title="Plan", description="The one that you have read above.")
    }
    if page["losing"]:
        fields["losing"] = Param(
            None,
            type=["string", "null"],  # the page sends no empty field that may not be null, also not to reject
            title="Records may go of",
            description="To approve: the names of all topics of which records may go. To reject: nothing.",
        )
    if page["widening"]:
        fields["widening"] = Param(
            None,
            type=["string", "null"],
            title="Something is opened by",
            description="To approve: the names of all principals by which something is opened. To reject: nothing.",
        )
    return ParamsDict(fields)


def _is_all_of(typed: str, names: Sequence[str]) -> bool:
    """Whether a text is exactly some names, in any order; users may have blanks and commas in theirs."""
    for name in sorted(names, key=len, reverse=True):
        if name not in typed:
            return False
        typed = typed.replace(name, " ")
    return not re.sub(r"[\s,]+", "", typed)


def _name(user: Mapping[str, Any] | None) -> str:
    return "an unknown user" if user is None else str(user["name"] or user["id"])
