from rest_framework.routers import SimpleRouter

from jobs.api import views

router = SimpleRouter(trailing_slash=False)
router.register("jobs", views.JobViewSet)
router.register("jobs/(?P<job_id>[^/]+)/executions", views.JobExecutionsViewSet, basename="job-execution")
router.register("executions", views.ExecutionViewSet)
urlpatterns = router.urls
