from django.urls import path, re_path

from accounts.api import invitations, keys, members, people, tenants, views
from jobs.numbers import WHOLE_NUMBER

MEMBER = rf"^tenants/(?P<tenant_id>[^/]+)/members/(?P<user_id>{WHOLE_NUMBER})$"

urlpatterns = [
    path("auth/register", views.RegisterView.as_view(), name="register"),
    path("auth/token", views.TokenView.as_view(), name="token"),
    path("auth/token/refresh", views.RefreshView.as_view(), name="token-refresh"),
    path("auth/logout", views.LogoutView.as_view(), name="logout"),
    path("auth/logout/everywhere", people.EverywhereView.as_view(), name="logout-everywhere"),
    path("auth/account", people.OwnAccountView.as_view(), name="own-account"),
    path("auth/password", people.PasswordView.as_view(), name="own-password"),
    path("auth/password/reset", people.ResetRequestView.as_view(), name="request-password-reset"),
    path("auth/password/reset/confirm", people.ResetView.as_view(), name="confirm-password-reset"),
    path("auth/email/verification", people.EmailProofRequestView.as_view(), name="request-email-verification"),
    path("auth/email/verify", people.EmailProofView.as_view(), name="verify-email"),
    path("keys", keys.KeysView.as_view(), name="keys"),
    path("keys/<str:id>", keys.KeyView.as_view(), name="key"),
    path("tenants", tenants.TenantsView.as_view(), name="tenants"),
    path("tenants/<str:tenant_id>", tenants.TenantView.as_view(), name="tenant"),
    path("tenants/<str:tenant_id>/members", members.MembersView.as_view(), name="members"),
    re_path(MEMBER, members.MemberView.as_view(), name="member"),
    path("tenants/<str:tenant_id>/invitations", invitations.InvitationsView.as_view(), name="invitations"),
    path("tenants/<str:tenant_id>/invitations/<str:id>", invitations.InvitationView.as_view(), name="invitation"),
    path("invitations/accept", invitations.AcceptView.as_view(), name="accept-invitation"),
]
