"""Users, tenants and who belongs where, in the admin."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from accounts.models import Membership, Tenant, User


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ["user", "tenant"]


@admin.register(User)
class PunctualUserAdmin(UserAdmin):
    inlines = [MembershipInline]


@admin.register(Tenant)
class TenantAdmin(admin.ModelAdmin):
    list_display = ["name", "id", "created_at"]
    search_fields = ["name"]
    inlines = [MembershipInline]
