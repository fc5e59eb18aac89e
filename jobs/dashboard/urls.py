"""The addresses of the pages."""

from django.urls import path

from jobs.dashboard import accounts, dead_letters, executions, jobs, keys, overview

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("jobs", jobs.job_list, name="jobs"),
    path("jobs/<uuid:pk>", jobs.job_page, name="job"),
    path("jobs/<uuid:pk>/<slug:act>", jobs.act_on_job, name="act-on-job"),
    path("executions", executions.execution_list, name="runs"),
    path("executions/<uuid:pk>", executions.execution_page, name="run"),
    path("executions/<uuid:pk>/cancel", executions.cancel, name="cancel-execution"),
    path("executions/<uuid:pk>/replay", executions.replay, name="replay-execution"),
    path("executions/<uuid:pk>/replay-edited", dead_letters.replay_edited, name="replay-edited"),
    path("dead-letters", dead_letters.dead_letter_list, name="dead-letters"),
    path("dead-letters/act", dead_letters.act_on_cause, name="act-on-cause"),
    path("keys", keys.key_list, name="keys"),
    path("keys/<uuid:pk>/revoke", keys.revoke, name="revoke-key"),
    path("sign-in", accounts.sign_in, name="sign-in"),
    path("sign-out", accounts.sign_out, name="sign-out"),
    path("register", accounts.register, name="sign-up"),
    path("tenant", accounts.choose_tenant, name="choose-tenant"),
]
