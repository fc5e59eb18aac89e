"""What lists can be narrowed down by."""

from django_filters import rest_framework as filters

from jobs.models import Execution, Job
from jobs.states import Cause, JobStatus, Status, choices


class JobFilter(filters.FilterSet):
    status = filters.ChoiceFilter(choices=choices(JobStatus))

    class Meta:
        model = Job
        fields = ["status", "task"]


class ExecutionFilter(filters.FilterSet):
    status = filters.ChoiceFilter(choices=choices(Status))
    cause = filters.ChoiceFilter(choices=choices(Cause))

    class Meta:
        model = Execution
        fields = ["status", "task", "cause"]
