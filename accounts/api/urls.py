from django.urls import path

from accounts.api import views

urlpatterns = [
    path("register", views.RegisterView.as_view(), name="register"),
    path("token", views.TokenView.as_view(), name="token"),
    path("token/refresh", views.RefreshView.as_view(), name="token-refresh"),
]
