from django.urls import path, re_path

from accounts.api import invitations, keys, members, tenants, views

MEMBER = r"^tenants/(?P<tenant_id>[^/]+)/members/(?P<user_id>[0-9]{1,18})$"  # more digits than any id has

urlpatterns = [
    path("auth/register", views.RegisterView.as_view(), name="register"),
    path("auth/token", views.TokenView.as_view(), name="token"),
    path("auth/token/refresh", views.RefreshView.as_view(), name="token-refresh"),
    path("auth/logout", views.LogoutView.as_view(), name="logout"),
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
