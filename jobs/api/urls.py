from django.urls import path
from rest_framework.routers import SimpleRouter

from jobs.api import views
from jobs.api.load import ScheduleLoadView
from jobs.api.schedules import SchedulePreviewView

router = SimpleRouter(trailing_slash=False)
router.register("jobs", views.JobViewSet)
router.register("jobs/(?P<job_id>[^/]+)/executions", views.JobExecutionsViewSet, basename="job-execution")
router.register("executions", views.ExecutionViewSet)
urlpatterns = [
    path("schedules/preview", SchedulePreviewView.as_view()),
    path("schedules/load", ScheduleLoadView.as_view({"get": "retrieve"})),
    *router.urls,
]
