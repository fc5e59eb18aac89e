"""Our ways to show values, for templates."""

from django import template

from jobs import shown

register = template.Library()
register.filter("badge", shown.badge)
register.filter("tone", shown.tone_of)
register.filter("moment", shown.moment)
register.filter("clock", shown.clock)
register.filter("length_of", shown.length)
register.filter("local", shown.local)
register.filter("readable", shown.readable)
