"""Users, tenants, who belongs where, and what people may do in the admin."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.models import Membership, Tenant, User


class MembershipInline(TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ["user", "tenant"]


@admin.register(User)
class PunctualUserAdmin(UserAdmin, ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    inlines = [MembershipInline]
    list_filter = ["is_staff", "is_superuser", "is_active"]
    list_filter_sheet = True
    show_full_result_count = False


@admin.register(Tenant)
class TenantAdmin(ModelAdmin):
    list_display = ["name", "id", "created_at"]
    search_fields = ["name"]
    ordering = ["name", "id"]  # pages of what is looked up while typing neither repeat nor miss a tenant
    inlines = [MembershipInline]
    show_full_result_count = False


admin.site.unregister(Group)


@admin.register(Group)
class PunctualGroupAdmin(GroupAdmin, ModelAdmin):
    """What people may do here. `manage.py make_admin_groups` makes those for viewers, operators and administrators."""
