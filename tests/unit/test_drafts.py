"""Templates out of a payload see their own data, and nothing else, for a bounded time."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from django.template.base import Lexer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from execution.mail import lexing, meter
from execution.mail.drafts import MAX_SOURCE, MAX_TAGS, BadTemplate, Budget, Draft, Drafts
from execution.mail.lexing import LinearLexer
from execution.mail.meter import MAX_MADE, Meter

DATA: dict[str, Any] = {
    "name": "<Ada>",
    "one": 1,
    "list": [3, 1, 2],
    "rows": [{"kind": "a", "n": 2}, {"kind": "b", "n": 1}],
    "deep": {"er": {"still": ["here"]}},
    "items": "a member, not a method",
}


def filled_in(source: str, data: dict[str, Any] | None = None, *, autoescape: bool = True) -> str:
    return Draft(source, Budget()).fill_in(DATA if data is None else data, Meter(), autoescape=autoescape)


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
        "{{ a }}" * (MAX_TAGS + 1),
        "{# a #}" * (MAX_TAGS + 1),
        "{% if a %}" + "{% elif a %}" * MAX_TAGS + "{% endif %}",
        "x" * (MAX_SOURCE + 1),
        "{{ a" + "|upper" * 200 + " }}",
        ("{{ a" + "|upper" * 100 + " }}") * 30,
        ("{% cycle" + " a" * 400 + " %}") * 10,
        "{{ a" + " " * 1000 + "}}",
        "{% for a in list.__class__.__mro__ %}{% endfor %}",
    ],
)
def test_what_reaches_further_is_refused_when_the_job_is_made(source) -> None:
    with pytest.raises(BadTemplate) as refused:
        Draft(source, Budget())

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
def test_what_would_take_too_long_or_too_much_is_stopped_by_counting(source, data, monkeypatch) -> None:
    monkeypatch.setattr(meter, "MAX_SECONDS", 10**6)

    with pytest.raises(BadTemplate):
        filled_in(source, data)


TEXT = "x" * 190_000


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("{% for a in text %}" + "y" * 100_000 + "{% endfor %}", {"text": TEXT}),
        ("{% for a in text %}{{ a }}{{ a }}{{ a }}{% endfor %}", {"text": TEXT}),
        ("{% for a in text %}{% for b in text %}{% endfor %}{% endfor %}", {"text": TEXT}),
        ("{% for a in text reversed %}{% for b in text reversed %}{% endfor %}{% endfor %}", {"text": TEXT}),
        ("{% for a in text %}{% with b=a %}{% endwith %}{% endfor %}", {"text": TEXT}),
        ("{% for a in big %}{% regroup text by x as y %}{% endfor %}", {"text": TEXT, "big": [0] * 100}),
        ("{% for a in big %}{{ text|add:text }}{% endfor %}", {"text": TEXT, "big": [0] * 100}),
        ("{% for a in big %}{% with a=text|add:text %}{% endwith %}{% endfor %}", {"text": TEXT, "big": [0] * 100}),
        ("{% with a=big|add:big %}{{ a|join:'' }}{% endwith %}", {"big": [TEXT] * 100}),
        ("{{ big }}", {"big": [[TEXT] * 100]}),
        ("{% if big == other %}{% endif %}" * 100, {"big": [TEXT + "a"] * 10, "other": [TEXT + "b"] * 10}),
        ("{% if 'y' in text %}{% endif %}" * 100, {"text": TEXT}),
        ("{% filter upper %}" * 25 + "{{ text }}" + "{% endfilter %}" * 25, {"text": TEXT}),
        ("{{ text|upper|lower }}" * 100, {"text": TEXT}),
        ("{% for a in big %}{% firstof text %}{% endfor %}", {"text": TEXT, "big": [0] * 100}),
        ("{% for a in big %}{% cycle text text %}{% endfor %}", {"text": TEXT, "big": [0] * 100}),
        ("{{ big|unordered_list }}", {"big": [[TEXT] * 30]}),
        ("{{ text|join:text }}", {"text": TEXT}),
        ("{{ text|make_list|join:'<<<<<<<<<<' }}", {"text": TEXT}),
        ("{{ text|truncatechars:10 }}", {"text": "a" + "\u0315\u0300" * 50_000}),
        ("{{ text|slugify }}", {"text": "a" + "\u0315\u0300" * 50_000}),
        ("{{ text|truncatechars:10 }}", {"text": "a" + "\u0f73" * 5_000}),  # two combining characters in normal form
        ("{{ text|slugify }}", {"text": "a" + "\uff9e\u0300" * 5_000}),
        ("{{ text|urlencode:other }}", {"text": TEXT, "other": TEXT}),
    ],
)
def test_no_template_makes_more_than_its_budget_of_text_and_steps(source, data, monkeypatch) -> None:
    monkeypatch.setattr(meter, "MAX_SECONDS", 10**6)
    used = Meter()
    tracemalloc.start()
    try:
        with pytest.raises(BadTemplate, match="cannot be filled in"):
            Draft(source, Budget()).fill_in(data, used, autoescape=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 30 * MAX_MADE  # bytes


def test_all_templates_of_a_mail_have_one_budget() -> None:
    half = "{{ a }}" * (MAX_TAGS // 2)
    Drafts({"subject": "Hi", "body": half})
    with pytest.raises(BadTemplate, match="together") as too_many:
        Drafts({"subject": "Hi {{ a }}", "body": half, "html": half})
    with pytest.raises(BadTemplate, match="together"):
        Drafts({"body": "x" * (MAX_SOURCE // 2), "html": "x" * (MAX_SOURCE // 2 + 1)})
    assert too_many.value.field == "html"

    loop = "{% for a in text %}{{ a }}{% endfor %}"
    data = {"text": "x" * 30_000}
    assert Drafts({"body": loop}).fill_in(data, Meter())["body"] == data["text"]
    with pytest.raises(BadTemplate, match="too many steps") as too_much:
        Drafts({"body": loop, "html": loop}).fill_in(data, Meter())
    assert too_much.value.field == "html"


def test_a_mail_as_people_write_them_is_far_from_its_budget() -> None:
    row = "<tr><td>{{ row.name|title }}</td><td>{{ row.price|floatformat:2 }}</td>{% if row.new %}!{% endif %}</tr>"
    used = Meter()
    data = {"rows": [{"name": "Ada", "price": 1.5, "new": True}] * 600}

    Draft("{% for row in rows %}" + row + "{% endfor %}", Budget()).fill_in(data, used, autoescape=True)

    assert used.work < meter.MAX_WORK / 4 and used.made_so_far < MAX_MADE / 5


def test_a_handler_that_has_no_memory_left_is_no_fault_of_the_template(monkeypatch) -> None:
    def exhausted(self, value, times=1):
        raise MemoryError

    monkeypatch.setattr(Meter, "look_through", exhausted)

    with pytest.raises(MemoryError):
        filled_in("{{ a }}")


def test_what_counting_misses_is_stopped_by_processor_time(monkeypatch) -> None:
    monkeypatch.setattr(meter, "MAX_SECONDS", 0.0)

    with pytest.raises(BadTemplate, match="too many steps"):
        filled_in("{{ text" + "|upper|lower" * 50 + " }}", {"text": "x"})


class Counting(str):
    """A text that counts the characters that are looked at."""

    looked = 0

    def find(self, part: str, start: int = 0, end: int | None = None) -> int:
        end = len(self) if end is None else end
        found = super().find(part, start, end)
        Counting.looked += (end if found < 0 else found) - start
        return found


@pytest.mark.parametrize("marks", ["{#", "{%", "{{", "{{%#", "{%{{{#", "{#}", "{%\n", "{{ a }}{#", "{#" * 99 + "\n"])
def test_a_template_is_taken_apart_in_a_time_that_grows_with_its_length(marks) -> None:
    looked = []
    for times in (1_000, 10_000):
        Counting.looked = 0
        list(lexing.split(Counting(marks * times)))
        looked.append(Counting.looked)

    assert looked[1] <= 4 * 10_000 * len(marks), "each character is looked at a few times, however many there are"


@pytest.mark.parametrize("marks", ["{#", "{%", "{{"])
def test_a_template_of_nothing_but_beginnings_is_read_at_once(marks) -> None:
    source = marks * (MAX_SOURCE // 2)

    assert filled_in(source) == source


PARTS = "{%~%}~{{~}}~{#~#}~{~}~%~#~\n~ ~a~if~verbatim~endverbatim~|"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine proves nothing
@given(st.lists(st.sampled_from(PARTS.split("~")), max_size=30).map("".join))
def test_a_template_is_taken_apart_as_django_does_it(source) -> None:
    ours, theirs = LinearLexer(source).tokenize(), Lexer(source).tokenize()

    assert [(t.token_type, t.contents, t.lineno) for t in ours] == [
        (t.token_type, t.contents, t.lineno) for t in theirs
    ]


WORDS = (
    "{% if ~{% for ~ in ~ %}~{% endif %}~{% endfor %}~{{ ~ }}~add~:~'~\"~a~1~1e9~.~-~{% with ~=~{% cycle ~{% regroup ~"
    " by ~ as ~{% now ~{% widthratio ~not ~ or ~join~slice~,~\\~|"
)


@given(st.lists(st.sampled_from(WORDS.split("~")), max_size=20).map("".join))
def test_any_text_is_filled_in_or_refused(source) -> None:
    try:
        filled_in(source)
    except BadTemplate as error:
        assert len(str(error)) < 500


def test_two_templates_know_nothing_of_each_other() -> None:
    counted = (
        "{% for n in list %}{% cycle 'a' 'b' as letter %}{% ifchanged %}{{ letter }}{% endifchanged %}{% endfor %}"
    )
    draft = Drafts({"html": counted})

    assert draft.fill_in(DATA, Meter()) == draft.fill_in(DATA, Meter())
