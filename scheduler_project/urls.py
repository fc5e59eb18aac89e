"""Every address Punctual answers at."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerView

from jobs.api.schema import SchemaView
from scheduler_project import health
from scheduler_project.whole_metrics import whole_metrics

admin.autodiscover()  # here, because only the web reads this: see `scheduler_project.apps.AdminConfig`

api = [path("", include("accounts.api.urls")), path("", include("jobs.api.urls"))]
urlpatterns = [
    path("", include("jobs.dashboard.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include((api, "api"))),  # a namespace: a page and a resource may have the same name
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", whole_metrics, name="metrics"),
]
handler400 = "jobs.dashboard.errors.bad_request"
handler403 = "jobs.dashboard.errors.forbidden"
handler404 = "jobs.dashboard.errors.not_found"
handler500 = "jobs.dashboard.errors.server_error"
