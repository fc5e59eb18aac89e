import json
import sys
from dataclasses import asdict

from django.core.management.base import BaseCommand

from scheduler_project.doctor.examination import examine
from scheduler_project.doctor.findings import Level
from scheduler_project.doctor.repairs import repair as mend


class Command(BaseCommand):
    help = "Says what is wrong with this installation and what to do. Exit status: 0 nothing, 1 warnings, 2 errors."
    requires_system_checks = []  # it makes them itself, and tells them like everything else

    def add_arguments(self, parser):
        parser.add_argument("--repair", action="store_true", help="mend what is safe to mend, and look again")
        parser.add_argument("--json", action="store_true", dest="as_json", help="for programs")

    def handle(self, *, repair: bool, as_json: bool, **options):
        findings = examine()
        done = mend(findings) if repair else []
        if done:
            findings = examine()
        worst = max((one.level for one in findings), default=Level.NOTE)
        if as_json:
            told = {"status": int(worst), "repaired": done, "findings": [_plain(one) for one in findings]}
            self.stdout.write(json.dumps(told, indent=2))
        else:
            self._tell(findings, done)
        if worst:
            sys.exit(int(worst))

    def _tell(self, findings, done):
        for act in done:
            self.stdout.write(self.style.SUCCESS(f"Repaired: {act}."))
        styles = {Level.ERROR: self.style.ERROR, Level.WARNING: self.style.WARNING, Level.NOTE: str}
        for one in findings:
            self.stdout.write(styles[one.level](f"{one.level.name:<8} {one.fact}"))
            self.stdout.write(f"         → {one.remedy}  [{one.code}]")
        problems = sum(one.level > Level.NOTE for one in findings)
        self.stdout.write(f"{problems} problem(s) found." if problems else self.style.SUCCESS("Nothing is wrong."))


def _plain(finding):
    return asdict(finding) | {"level": finding.level.name.lower()}
