"""Access made what the specs declare, as far as that is approved, and verified afterwards.

Rights are granted first and revoked last: killed in between, no principal has less than before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sluice.clock import Clock, SystemClock
from sluice.errors import CorruptionError, NotReadyError
from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import AccessAdministration, Credential
from sluice.provisioning.plans.access_plan import ActualAccess, plan_access
from sluice.provisioning.plans.approval import Approval, PlanCommands, refuse_unapproved
from sluice.provisioning.plans.changes import ChangeKind, PasswordUpdate, PlannedChange
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.service_limits import access_within
from sluice.provisioning.spreading import once_spread
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.services import APACHE, KafkaService

Passwords = Callable[[str], str]
"""Returns the password in a variable. Raises NotReadyError if there is none."""


@dataclass(frozen=True)
class AccessScope:
    """The principals of a deployment and the cluster that knows them.

    Attributes:
        catalog: what is declared, in one deployment.
        administration: the cluster.
        passwords: where passwords come from.
        rotate: the users whose password is set again.
        service: what the cluster is: it is not asked for what it does not do.
        clock: waits for other brokers.
    """

    catalog: Catalog
    administration: AccessAdministration
    passwords: Passwords
    rotate: tuple[str, ...] = ()
    service: KafkaService = APACHE
    clock: Clock = field(default_factory=SystemClock)

    @property
    def commands(self) -> PlanCommands:
        """The commands that show and apply this plan."""
        return PlanCommands("access", tuple(f"--rotate {user}" for user in sorted(self.rotate)))

    def plan(self) -> Plan:
        """Compare the specs with the cluster as it is now.

        Raises:
            SpecError: a user to rotate has no password by a spec.
            NotReadyError: the cluster has no access control.
            UnreachableError: it did not answer.
        """
        actual = ActualAccess.of(self.administration, self.service)
        return access_within(plan_access(self.catalog, actual, rotate=self.rotate), self.service)

    def apply(self, approval: Approval | None = None) -> Plan:
        """Change what differs, and return what was done; a second run changes nothing.

        Either the whole plan is applied or nothing is. One that was killed is finished by the next. Without an approval
        only what is safe is applied.

        Raises:
            RefusedError: the plan is not approved, or the cluster refused.
            NotReadyError: a password is missing; all that are missing are named.
            CorruptionError: the cluster still differs afterwards.
        """
        todo = self.plan()
        refuse_unapproved(todo, approval, self.commands)
        self.execute(todo.changes, self.passwords_of(todo.changes))
        if left := once_spread(replace(self, rotate=()).plan, bool, self.clock):
            raise CorruptionError(
                f"After the access was applied, the cluster still differs: {left}.",
                fix="look for another program that changes access (`sluice access list`), then apply again.",
            )
        return todo

    def passwords_of(self, changes: Iterable[PlannedChange]) -> Mapping[str, str]:
        """Return the passwords that some changes set, by variable.

        Raises:
            NotReadyError: some are missing; all of them are named.
        """
        known: dict[str, str] = {}
        missing: list[str] = []
        for variable in sorted({each.detail.variable for each in changes if isinstance(each.detail, PasswordUpdate)}):
            try:
                known[variable] = self.passwords(variable)
            except NotReadyError as error:
                missing.append(error.message.rstrip("."))
        if missing:
            raise NotReadyError(
                f"Nothing was applied: {'; '.join(missing)}.", fix="set the variables where you apply it."
            )
        return known

    def execute(self, changes: Iterable[PlannedChange], passwords: Mapping[str, str]) -> None:
        """Make the changes of principals among these, in the order that is safe.

        Raises:
            RefusedError: the cluster refused. What was done before stays.
        """
        acls: dict[ChangeKind, list[Acl]] = {ChangeKind.GRANT: [], ChangeKind.REVOKE: []}
        dropped: list[Credential] = []
        updates: list[PasswordUpdate] = []
        for change in changes:
            if isinstance(change.detail, Acl):
                acls[change.kind].append(change.detail)
            elif isinstance(change.detail, PasswordUpdate):
                updates.append(change.detail)
            elif isinstance(change.detail, Credential):
                dropped.append(change.detail)
        self.administration.grant(acls[ChangeKind.GRANT])
        for update in updates:
            self.administration.set_password(update.credential, passwords[update.variable])
        for credential in dropped:
            self.administration.drop_password(credential.user, credential.mechanism)
        self.administration.revoke(acls[ChangeKind.REVOKE])
