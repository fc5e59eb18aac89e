from django.urls import path
from rest_framework.routers import SimpleRouter

from jobs.api.executions import ExecutionViewSet, JobExecutionsViewSet
from jobs.api.jobs import JobViewSet
from jobs.api.load import ScheduleLoadView
from jobs.api.schedules import SchedulePreviewView
from jobs.api.stats import StatsView

router = SimpleRouter(trailing_slash=False)
router.register("jobs", JobViewSet)
router.register("jobs/(?P<job_id>[^/]+)/executions", JobExecutionsViewSet, basename="job-execution")
router.register("executions", ExecutionViewSet)
urlpatterns = [
    path("schedules/preview", SchedulePreviewView.as_view()),
    path("schedules/load", ScheduleLoadView.as_view({"get": "retrieve"})),
    path("stats", StatsView.as_view({"get": "retrieve"})),
    *router.urls,
]
