from django.urls import path
from rest_framework.routers import SimpleRouter

from jobs.api.alerts import AlertViewSet
from jobs.api.audit import AuditViewSet
from jobs.api.dead_letters import DeadLetterViewSet, ReplayViewSet
from jobs.api.destinations import DestinationViewSet
from jobs.api.executions import ExecutionViewSet, JobExecutionsViewSet
from jobs.api.images import ImageView, NewImageView
from jobs.api.incidents import IncidentViewSet
from jobs.api.jobs import JobViewSet
from jobs.api.load import ScheduleLoadView
from jobs.api.logs import ExecutionLogsView
from jobs.api.schedules import SchedulePreviewView
from jobs.api.signing import SigningSecretView
from jobs.api.stats import StatsView
from jobs.api.tasks import TaskViewSet
from jobs.api.worker_keys import WorkerKeyViewSet
from jobs.api.workers import ClaimView, CompleteView, FailView, HeartbeatView

router = SimpleRouter(trailing_slash=False)
router.register("jobs", JobViewSet)
router.register("jobs/(?P<job_id>[^/]+)/executions", JobExecutionsViewSet, basename="job-execution")
router.register("executions", ExecutionViewSet)
router.register("destinations", DestinationViewSet)
router.register("worker-keys", WorkerKeyViewSet)
router.register("dead-letters", DeadLetterViewSet, basename="dead-letter")
router.register("dead-letters/replays", ReplayViewSet)
router.register("alerts", AlertViewSet)
router.register("incidents", IncidentViewSet)
router.register("tasks", TaskViewSet, basename="task")
router.register("audit", AuditViewSet)
urlpatterns = [
    path("schedules/preview", SchedulePreviewView.as_view()),
    path("schedules/load", ScheduleLoadView.as_view({"get": "retrieve"})),
    path("stats", StatsView.as_view({"get": "retrieve"})),
    path("worker/claim", ClaimView.as_view()),
    path("worker/heartbeat", HeartbeatView.as_view()),
    path("worker/complete", CompleteView.as_view()),
    path("worker/fail", FailView.as_view()),
    path("executions/<execution_id>/logs", ExecutionLogsView.as_view({"get": "retrieve"})),
    path("images", NewImageView.as_view({"post": "create"})),
    path("images/<str:name>", ImageView.as_view({"get": "retrieve"})),
    path("signing-secret", SigningSecretView.as_view({"get": "retrieve"})),
    *router.urls,
]
