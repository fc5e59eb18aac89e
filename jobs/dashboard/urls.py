"""The addresses of the pages."""

from django.urls import path

from jobs.dashboard import accounts, dead_letters, executions, jobs, keys, overview, people

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
    path("invitation", accounts.invitation, name="invitation"),
    path("account", people.account, name="account"),
    path("account/password", people.change_password, name="change-password"),
    path("account/sign-out-everywhere", people.sign_out_everywhere, name="sign-out-everywhere"),
    path("account/verification", people.request_verification, name="request-verification"),
    path("account/verify", people.verify_address, name="verify-address"),
    path("forgot-password", people.forgot_password, name="forgot-password"),
    path("reset-password", people.reset_password, name="reset-password"),
    path("tenant", accounts.choose_tenant, name="choose-tenant"),
]
