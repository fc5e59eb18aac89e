"""What people and API clients do to alert rules, each act with its audit event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Subquery

from accounts import attempts
from accounts.mail_rights import MailRefused, check_may_mail
from accounts.models import Tenant, User
from accounts.quota import QuotaExceeded, take_turn
from jobs import audit
from jobs.alerts.composing import write_test
from jobs.alerts.kinds import Channel, Wish
from jobs.alerts.targets import SECRET, faults_of_target
from jobs.clock import database_now
from jobs.models import AlertRule, Job, Notice, Watch
from jobs.redaction import MARK
from jobs.sealing import get_seal
from jobs.states import IllegalMove
from jobs.terms import InvalidTags, read_tag

MOST_RULES = 200  # of a tenant: each is asked of every incident of it
MOST_EMAILS = 20
SHORTEST_PAUSE, LONGEST = 10.0, 7 * 86_400.0  # seconds
PAUSE = 300.0  # for rules that do not say
SHOWN = ("name", "tag", "kinds", "channel", "emails", "url", "patience", "pause", "enabled")
OF_CHANNEL = {Channel.EMAIL: {"emails": []}, Channel.WEBHOOK: {"url": "", "secret": None}}  # and what is none


class InvalidRule(Exception):
    """These cannot be a rule's. Says of each field what is wrong, and what to do."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in errors.items()))
        self.errors = dict(errors)


@transaction.atomic
def create_rule(values: Mapping[str, Any], *, tenant: Tenant, actor: User | None) -> AlertRule:
    """A rule that hears of what begins from now on."""
    take_turn(tenant)
    used = AlertRule.objects.for_tenant(tenant).count()
    if used >= MOST_RULES:
        raise QuotaExceeded("alert_rules", limit=MOST_RULES, used=used, remedy="Delete one, or have one name a tag.")
    rule = AlertRule(tenant=tenant, created_at=database_now(), pause=PAUSE, kinds=list(Wish))
    _apply(rule, values)
    rule.save(force_insert=True)
    _audit("create_alert", rule, actor, before=None, after=snapshot(rule))
    return rule


@transaction.atomic
def update_rule(rule: AlertRule, changes: Mapping[str, Any], *, actor: User | None) -> AlertRule:
    """What waits to be told is told as the rule is now. One that is switched off forgets it."""
    switched_off = changes.get("enabled") is False
    if switched_off:
        _await_look()
    rule = _locked(rule)
    before = snapshot(rule)
    _apply(rule, changes)
    rule.save()
    if switched_off:
        rule.forget()
    _audit("update_alert", rule, actor, before=before, after=snapshot(rule))
    return rule


@transaction.atomic
def delete_rule(rule: AlertRule, *, actor: User | None) -> None:
    _await_look()
    rule = _locked(rule)
    _audit("delete_alert", rule, actor, before=snapshot(rule), after=None)
    rule.delete()


@transaction.atomic
def remove_recipient(rule: AlertRule, address: str) -> None:
    """Mail nothing more of this rule to the address. A rule without any recipient left is switched off."""
    _await_look()
    rule = _locked(rule)
    before = snapshot(rule)
    rule.emails = [email for email in rule.emails if email.casefold() != address.casefold()]
    if not rule.emails:
        rule.enabled = False
        rule.forget()
    rule.save(update_fields=["emails", "enabled"])
    _audit("update_alert", rule, None, before=before, after=snapshot(rule))


@transaction.atomic
def send_test(rule: AlertRule, *, actor: User | None) -> Notice:
    """Have a test notice sent to whoever the rule names, whatever its pause."""
    if not rule.enabled:
        raise IllegalMove("The rule is switched off. Enable it, then test it.")
    if rule.channel == Channel.EMAIL:
        check_may_mail(rule.tenant_id)
        attempts.count_test_notice(rule.tenant_id)
    notice = write_test(rule, database_now())
    _audit("test_alert", rule, actor, before=None, after=snapshot(rule) | {"notice": str(notice.pk)})
    return notice


def faults_of(rule: AlertRule, changes: Mapping[str, Any], *, tenant: Tenant) -> dict[str, str]:
    """What would be wrong with the rule after these changes, by field. Changes nothing."""
    changed = copy(rule)
    changed.tenant = tenant
    try:
        _apply(changed, changes)
    except InvalidRule as error:
        return error.errors
    except MailRefused as error:
        return {"emails": str(error)}
    return {}


def snapshot(rule: AlertRule) -> dict[str, Any]:
    """The rule as an audit event keeps it: without its secret, not even sealed."""
    kept = {name: getattr(rule, name) for name in SHOWN}
    return {
        "alert": str(rule.pk),
        **kept,
        "job": str(rule.job_id) if rule.job_id else None,
        "secret": MARK if rule.sealed else None,
    }


def with_latest_notices(rules: Sequence[AlertRule]) -> Sequence[AlertRule]:
    """Each with the latest notice it has sent or tried to, in one statement."""
    latest = Notice.objects.filter(rule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    theirs = AlertRule.objects.filter(pk__in=[rule.pk for rule in rules]).values(found=Subquery(latest))
    of_rule = {notice.rule_id: notice for notice in Notice.objects.filter(pk__in=theirs).defer("content")}
    for rule in rules:
        rule.latest_notice = of_rule.get(rule.pk)
    return rules


def _await_look() -> None:
    """Have nobody look until the transaction ends.

    A look locks the watch before all else, so whoever writes what it writes does too: in another order, each could
    wait for the other.
    """
    Watch.objects.select_for_update().first()


def _locked(rule: AlertRule) -> AlertRule:
    return AlertRule.objects.select_for_update(of=("self",)).select_related("tenant").get(pk=rule.pk)


def _audit(
    action: str, rule: AlertRule, actor: User | None, *, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> None:
    assert rule.tenant_id is not None, "those of the settings are changed by the settings"
    audit.write_other(action, actor, tenant=rule.tenant_id, job=rule.job_id, before=before, after=after)


def _apply(rule: AlertRule, changes: Mapping[str, Any]) -> None:
    """Take on the changes, if what comes of them is a rule; InvalidRule if not."""
    changed = dict(changes)
    if "channel" in changed and changed["channel"] != rule.channel:
        # What belongs to the other channel goes with it.
        changed = {name: none for fields in OF_CHANNEL.values() for name, none in fields.items()} | changed
    if changed.get("channel", rule.channel) == Channel.EMAIL and changed.get("enabled", rule.enabled):
        check_may_mail(rule.tenant_id)
    secret = changed.pop("secret", MARK)
    errors = _faults(rule, changed) | _faults_of_kept_secret(rule, changed, secret)
    for name, value in changed.items():
        setattr(rule, name, value)
    errors |= _faults_of_channel(rule, secret)
    if errors:
        raise InvalidRule(errors)
    if secret != MARK:
        rule.sealed = get_seal().sealed({SECRET: secret}, rule.tenant_id) if secret else None


def _faults(rule: AlertRule, changed: dict[str, Any]) -> dict[str, str]:
    """What is wrong with the fields by themselves; those that are well are as they are kept."""
    errors = {}
    if "kinds" in changed:
        changed["kinds"] = [kind.value for kind in Wish if kind in changed["kinds"]]
        if changed["kinds"] in ([], [Wish.RECOVERED]):
            errors["kinds"] = f"must have one of {', '.join(one for one in Wish if one != Wish.RECOVERED)}."
    if changed.get("tag"):
        try:
            changed["tag"] = read_tag(changed["tag"])
        except InvalidTags as error:
            errors["tag"] = str(error)
    if "job" in changed:
        wanted = changed.pop("job")
        changed["job"] = Job.objects.kept().filter(tenant=rule.tenant_id, pk=wanted).first() if wanted else None
        if wanted and changed["job"] is None:
            errors["job"] = "There is no such job, or it is not yours to see. Check the id, or leave it out."
    if changed.get("tag", rule.tag) and changed.get("job", rule.job_id):
        errors["tag"] = "A rule is of one job or of a tag. Leave one of them out."
    return errors


def _faults_of_kept_secret(rule: AlertRule, changed: Mapping[str, Any], secret: str | None) -> dict[str, str]:
    """Why a stored secret cannot be kept: it signs for one receiver, as the secrets of payloads do."""
    if secret != MARK or not rule.sealed or changed.get("url", rule.url) == rule.url:
        return {}
    return {"secret": "was stored for another url. Enter the secret again."}


def _faults_of_channel(rule: AlertRule, secret: str | None) -> dict[str, str]:
    """What is wrong with where notices are to go, and what belongs to another channel."""
    given = None if secret == MARK else secret
    errors = faults_of_target(rule.channel, emails=rule.emails, url=rule.url, secret=given)
    match rule.channel:
        case Channel.EMAIL:
            errors |= {
                name: "belongs to the channel webhook. Leave it out."
                for name, there in (("url", rule.url), ("secret", given))
                if there
            }
        case Channel.WEBHOOK:
            if rule.emails:
                errors["emails"] = "belong to the channel email. Leave them out."
    return errors
