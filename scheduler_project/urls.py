"""Every address Punctual answers at."""

from django.contrib import admin
from django.urls import include, path
from django_prometheus.exports import ExportToDjangoView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from scheduler_project import health

admin.autodiscover()  # here, because only the web reads this: see `scheduler_project.apps.AdminConfig`

urlpatterns = [
    path("", include("jobs.dashboard.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("accounts.api.urls")),
    path("api/v1/", include("jobs.api.urls")),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", ExportToDjangoView, name="metrics"),
]
handler404 = "jobs.dashboard.errors.not_found"
handler500 = "jobs.api.problems.server_error"
