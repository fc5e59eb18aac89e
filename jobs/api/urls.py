from django.urls import path
from rest_framework.routers import SimpleRouter

from jobs.api.executions import ExecutionViewSet, JobExecutionsViewSet
from jobs.api.jobs import JobViewSet
from jobs.api.load import ScheduleLoadView
from jobs.api.logs import ExecutionLogsView
from jobs.api.schedules import SchedulePreviewView

router = SimpleRouter(trailing_slash=False)
router.register("jobs", JobViewSet)
router.register("jobs/(?P<job_id>[^/]+)/executions", JobExecutionsViewSet, basename="job-execution")
router.register("executions", ExecutionViewSet)
urlpatterns = [
    path("schedules/preview", SchedulePreviewView.as_view()),
    path("schedules/load", ScheduleLoadView.as_view({"get": "retrieve"})),
    path("executions/<execution_id>/logs", ExecutionLogsView.as_view({"get": "retrieve"})),
    *router.urls,
]
