"""Templates out of a payload see their own data, and nothing else, for a bounded time."""

from __future__ import annotations

from typing import Any

import pytest

from execution.mail import filters
from execution.mail.drafts import BadTemplate, Draft

DATA: dict[str, Any] = {
    "name": "<Ada>",
    "one": 1,
    "list": [3, 1, 2],
    "rows": [{"kind": "a", "n": 2}, {"kind": "b", "n": 1}],
    "deep": {"er": {"still": ["here"]}},
    "items": "a member, not a method",
}


def filled_in(source: str, data: dict[str, Any] | None = None, *, autoescape: bool = True) -> str:
    return Draft(source, autoescape=autoescape).fill_in(DATA if data is None else data)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Hello {{ name }}", "Hello &lt;Ada&gt;"),
        ("{{ deep.er.still.0 }} {{ list.2 }}", "here 2"),
        ("{% for key, value in deep.items %}{{ key }}{% endfor %}", "er"),
        ("{{ items }}", "a member, not a method"),
        ("{% for n in list %}{{ forloop.counter }}:{{ n }}{% if not forloop.last %}, {% endif %}{% endfor %}", "1:3, 2:1, 3:2"),  # noqa: E501
        ("{% if one == 1 and list|length > 2 %}yes{% else %}no{% endif %}", "yes"),
        ("{% with total=one|add:41 %}{{ total }}{% endwith %}", "42"),
        ("{% for row in rows|dictsort:'n' %}{{ row.kind }}{% endfor %}", "ba"),
        ("{% regroup rows by kind as kinds %}{% for kind in kinds %}{{ kind.grouper }}{{ kind.list|length }}{% endfor %}", "a1b1"),  # noqa: E501
        ("{{ missing }}{{ missing|default:'none' }}", "none"),
        ("{% firstof missing name %}", "&lt;Ada&gt;"),
        ("{% comment %}gone{% endcomment %}{% verbatim %}{{ kept }}{% endverbatim %}", "{{ kept }}"),
        ("{% for n in list %}{% cycle 'odd' 'even' %} {% endfor %}", "odd even odd "),
        ("{{ 3.14159|floatformat:2 }} {{ name|upper|truncatechars:3 }}", "3.14 &lt;A…"),
        ("{% autoescape off %}{{ name }}{% endautoescape %}{{ name|safe }}", "<Ada><Ada>"),
    ],
)  # fmt: skip
def test_what_a_mail_needs_works(source, text) -> None:
    assert filled_in(source) == text


def test_plain_text_is_not_escaped() -> None:
    assert filled_in("{{ name }} & co", autoescape=False) == "<Ada> & co"


@pytest.mark.parametrize(
    "source",
    [
        "{% load static %}",
        "{% load i18n from x %}",
        "{% include 'admin/base.html' %}",
        "{% include name %}",
        "{% extends 'admin/base.html' %}",
        "{% block a %}{% endblock %}",
        "{% debug %}",
        "{% url 'admin:index' %}",
        "{% csrf_token %}",
        "{% lorem 100000 %}",
        "{% querystring %}",
        "{% spaceless %}{% endspaceless %}",
        "{% python %}",
        "{{ name.__class__ }}",
        "{{ name._private }}",
        "{{ __builtins__ }}",
        "{{ name|attr:'x' }}",
        "{{ name|pprint }}",
        "{{ name|stringformat:'1000000000d' }}",
        "{{ name|center:1000000000 }}",
        "{{ name|ljust:1000000000 }}",
        "{{ name|rjust:1000000000 }}",
        "{{ name|urlize }}",
        "{{ name|striptags }}",
        "{{ list|random }}",
        "{% if %}{% endif %}",
        "{% for %}{% endfor %}",
        "{{ name|upper:'too many' }}",
        "{% if 1 %}" * 31 + "{% endif %}" * 31,
        "{% if 1 %}" * 900 + "{% endif %}" * 900,
        "{{ a }}" * 2001,
        "x" * 200_001,
        "{{ a" + "|upper" * 2001 + " }}",
        "{% for a in list.__class__.__mro__ %}{% endfor %}",
    ],
)
def test_what_reaches_further_is_refused_when_the_job_is_made(source) -> None:
    with pytest.raises(BadTemplate) as refused:
        Draft(source, autoescape=True)

    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "source",
    [
        "{{ name.upper }}",
        "{{ name.format }}",
        "{{ name.encode }}",
        "{{ list.clear }}",
        "{{ list.append }}",
        "{{ list.pop }}",
        "{{ deep.clear }}",
        "{{ deep.popitem }}",
        "{{ deep.er.update }}",
        "{{ one.real }}",
        "{{ one.to_bytes }}",
        "{{ deep.items.append }}",
        "{{ list.9 }}",
        "{{ list.x }}",
        "{% with x=list.copy %}{{ x }}{% endwith %}",
        "{{ block.super }}",
        "{{ request.user }}",
        "{{ settings.SECRET_KEY }}",
        "{{ forloop }}",
        "{{ self }}",
        "{{ context }}",
        "{{ template.engine }}",
        "{{ True.real }}",
        "{{ ''|dictsort:'__class__' }}",
        "{% firstof name.upper list.pop %}",
        "{% for x in rows %}{{ x.keys.sort }}{{ x.get }}{% endfor %}",
    ],
)
def test_nothing_but_data_is_behind_a_dot(source) -> None:
    assert filled_in(source).strip() == ""
    assert DATA["list"] == [3, 1, 2] and DATA["deep"] == {"er": {"still": ["here"]}}, "and nothing changes it"


def test_a_sort_by_what_is_no_data_sorts_nothing() -> None:
    assert filled_in("{{ rows|dictsort:'__class__' }}") == ""
    assert filled_in("{{ rows|dictsort:'kind.upper' }}") == ""


DOUBLING = "".join(f"{{% with a{n + 1}=a{n}|add:a{n} %}}" for n in range(28))
LOOP = "{% for a in big %}"


@pytest.mark.parametrize(
    ("source", "data"),
    [
        (DOUBLING + "{{ a28 }}" + "{% endwith %}" * 28, {"a0": "abcdefghij"}),
        (DOUBLING + "{{ a28|length }}" + "{% endwith %}" * 28, {"a0": [0] * 10}),
        (LOOP * 5 + "x" + "{% endfor %}" * 5, {"big": [0] * 1000}),
        (LOOP * 5 + "{% endfor %}" * 5, {"big": [0] * 1000}),
        (LOOP + "{{ text }}" + "{% endfor %}", {"big": [0] * 1000, "text": "x" * 10_000}),
        ("{{ big|join:text }}", {"big": [0] * 100_000, "text": "x" * 100_000}),
        ("{{ one|floatformat:999999999 }}", DATA),
        ("{{ one|floatformat:'-999999999g' }}", DATA),
        ("{{ text|wordwrap:0 }}", {"text": "x y"}),
        ("{% for a in big %}{% for b in big %}{{ a|add:b|add:a|add:b }}{% endfor %}{% endfor %}", {"big": ["x" * 999] * 999}),  # noqa: E501
    ],
)  # fmt: skip
def test_what_would_take_too_long_or_too_much_is_stopped(source, data, monkeypatch) -> None:
    monkeypatch.setattr(filters, "LONGEST", 0.5)

    with pytest.raises(BadTemplate):
        filled_in(source, data)


def test_a_chain_of_filters_is_stopped_between_two_of_them(monkeypatch) -> None:
    monkeypatch.setattr(filters, "LONGEST", 0.0)

    with pytest.raises(BadTemplate):
        filled_in("{{ text" + "|upper|lower" * 900 + " }}", {"text": "x"})


def test_what_is_stopped_is_stopped_by_steps_and_not_only_by_the_clock(monkeypatch) -> None:
    monkeypatch.setattr(filters, "LONGEST", 10**6)
    monkeypatch.setattr(filters, "MOST_STEPS", 1000)

    with pytest.raises(BadTemplate, match="too many steps"):
        filled_in(LOOP * 3 + "{{ a }}" + "{% endfor %}" * 3, {"big": [0] * 1000})


def test_two_templates_know_nothing_of_each_other() -> None:
    counted = (
        "{% for n in list %}{% cycle 'a' 'b' as letter %}{% ifchanged %}{{ letter }}{% endifchanged %}{% endfor %}"
    )
    draft = Draft(counted, autoescape=True)

    assert draft.fill_in(DATA) == draft.fill_in(DATA)
