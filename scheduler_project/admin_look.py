"""How the admin looks, and what its sidebar offers: by what people look for, not by table.

Only data: it is read by every process, so what it names is named by text and looked up where a page is drawn.
"""

from __future__ import annotations

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy


def _item(title: str, icon: str, address: str, *permissions: str) -> dict[str, Any]:
    """A line of the sidebar, for those who have one of the permissions."""
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(address),
        "permission": lambda request: any(request.user.has_perm(one) for one in permissions),
    }


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Punctual",
    "SITE_HEADER": "Punctual",
    "SITE_SUBHEADER": "Scheduler admin",
    "SITE_SYMBOL": "schedule",
    "SITE_URL": "/",
    "SHOW_HISTORY": False,  # acts are told by the audit trail, with what they changed
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "8px",
    "SCRIPTS": [lambda request: static("punctual/access.js")],
    "STYLES": [lambda request: static("punctual/admin.css")],
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("mark.svg")}],
    "COLORS": {
        "base": {  # the dashboard's greys, from paper to night
            "50": "#f6f7f9",
            "100": "#eef0f4",
            "200": "#e3e6ec",
            "300": "#c9ced8",
            "400": "#9aa5b8",
            "500": "#667085",
            "600": "#566074",
            "700": "#3a465c",
            "800": "#242d3d",
            "900": "#141a25",
            "950": "#0d1119",
        },
        "primary": {  # … and its accent
            "50": "#eceefc",
            "100": "#d5daf8",
            "200": "#bcc4f5",
            "300": "#a9b4ff",
            "400": "#93a1ff",
            "500": "#7f8ff6",
            "600": "#3f51d8",
            "700": "#3443b0",
            "800": "#2b378f",
            "900": "#232c5a",
            "950": "#1a2040",
        },
        "font": {  # two shades darker than Unfold's, so that small print can be read by everybody
            "subtle-light": "var(--color-base-600)",
            "subtle-dark": "var(--color-base-300)",
            "default-light": "#2b3444",
            "default-dark": "var(--color-base-200)",
            "important-light": "var(--color-base-900)",
            "important-dark": "var(--color-base-50)",
        },
    },
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {
                "title": "Work",
                "items": [
                    {"title": "Live dashboard", "icon": "monitoring", "link": "/", "active": False},
                    _item("Jobs", "event_repeat", "admin:jobs_job_changelist", "jobs.view_job"),
                    _item("Executions", "history", "admin:jobs_execution_changelist", "jobs.view_execution"),
                    _item("Dead letters", "report", "admin:dead_letters", "jobs.view_execution"),
                    _item("Incidents", "notifications_active", "admin:jobs_incident_changelist", "jobs.view_incident"),
                    _item("Alerts", "notifications", "admin:jobs_alertrule_changelist", "jobs.view_alertrule"),
                    _item("Calendar", "calendar_month", "admin:calendar", "jobs.view_job"),
                    _item("Workers", "memory", "admin:workers", "jobs.view_execution"),
                    _item("Worker keys", "key", "admin:execution_workerkey_changelist", "execution.view_workerkey"),
                    _item(
                        "Destinations", "dns", "admin:execution_destination_changelist", "execution.view_destination"
                    ),
                ],
            },
            {
                "title": "People",
                "separator": True,
                "items": [
                    _item("Audit", "policy", "admin:jobs_auditevent_changelist", "jobs.view_auditevent"),
                    _item("Users", "person", "admin:accounts_user_changelist", "accounts.view_user"),
                    _item("Tenants", "groups", "admin:accounts_tenant_changelist", "accounts.view_tenant"),
                    _item("Permissions", "shield_person", "admin:auth_group_changelist", "auth.view_group"),
                ],
            },
        ],
    },
}
