"""What people are told a schedule does."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings

from scheduling.recurrence import Bounded, Cron, Every, Jittered, Once, OnGap, OnRepeat, Recurrence, describe
from scheduling.recurrence.fields import HOUR, MINUTE
from scheduling.recurrence.time_words import times_in_words
from scheduling.recurrence.zone_names import place_named, zone_names
from tests.schedules import expressions, recurrences, seeds

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("30 10 * * 5", "At 10:30 on Friday"),
        ("0 9 * * *", "At 09:00 every day"),
        ("0 9,12 * * 1-5", "At 09:00 and 12:00 on Monday through Friday"),
        ("0,30 9-11 * * *", "At 09:00, 09:30, 10:00, 10:30, 11:00 and 11:30 every day"),
        ("* * * * *", "Every minute"),
        ("* 9-17 * * *", "Every minute from 09:00 through 17:59"),
        ("* 9 * * *", "Every minute from 09:00 through 09:59"),
        ("* */2 * * *", "Every minute in every 2nd hour from 0 through 22"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 through 17:59 on Monday through Friday"),
        ("10/20 * * * *", "Every 20 minutes, starting 10 minutes past"),
        ("1/30 9-17 * * *", "Every 30 minutes, starting 1 minute past, from 09:00 through 17:59"),
        ("*/7 * * * *", "At every 7th minute from 0 through 56 past every hour"),  # 4 minutes from 56 to the next 0
        ("*/5 1,3,7 * * *", "Every 5 minutes in hours 1, 3 and 7"),
        ("0-4,30 * * * *", "At minutes 0 through 4 and 30 past every hour"),
        ("@hourly", "Every hour, on the hour"),
        ("17 * * * *", "Every hour at minute 17"),
        ("17 */2 * * *", "Every 2 hours from 00:17 through 22:17"),
        ("5 9-17 * * *", "Every hour from 09:05 through 17:05"),
        ("5 1-3,5,8,13,21 * * *", "At minute 5 past hours 1 through 3, 5, 8, 13 and 21"),
        ("0 0 1 * *", "At 00:00 on the 1st of the month"),
        ("0 0 1,15,L * *", "At 00:00 on the 1st, the 15th and the last day of the month"),
        ("0 0 2-5,22 * *", "At 00:00 on the 2nd through 5th and the 22nd of the month"),
        ("0 0 */10 * *", "At 00:00 on every 10th day from the 1st through the 31st of the month"),
        ("0 0 29 2 *", "At 00:00 on the 29th of the month in February"),
        ("0 0 * 1-3,12 *", "At 00:00 in January through March and December"),
        ("0 0 * * 6,0", "At 00:00 on Saturday and Sunday"),
        ("0 0 * * 7", "At 00:00 on Sunday"),
        ("0 0 * * 5#2", "At 00:00 on the 2nd Friday of the month"),
        ("0 0 * * 5L", "At 00:00 on the last Friday of the month"),
        ("0 0 * 6 1,5#2,0L", "At 00:00 on Monday, the 2nd Friday and the last Sunday of the month in June"),
        ("0 0 13 * 5", "At 00:00 on the 13th of the month or on Friday"),
        ("0 0 13 3 5", "At 00:00 on the 13th of the month or on Friday, in March"),
        (
            "0 0 */10 3 5,1",
            "At 00:00 on every 10th day from the 1st through the 31st of the month, "
            "if it falls on Monday or Friday, in March",
        ),
        ("0 0 13 * */5", "At 00:00 on the 13th of the month, if it falls on Friday or Sunday"),
        # Either may match, and every day of the month does. Surely not what was meant, but what it means.
        ("0 0 1-31 * 5", "At 00:00 every day"),
        ("0 0 * * 0-7", "At 00:00 every day"),
        ("0 9-9 * * *", "At 09:00 every day"),
    ],
)
def test_a_cron_expression_in_words(expression: str, words: str) -> None:
    assert describe(Cron(expression, "Asia/Jakarta")) == f"{words}, Jakarta time."


@pytest.mark.parametrize(
    ("recurrence", "words"),
    [
        (Once(NOW), "Once, at 2027-03-01 12:00:00 UTC."),
        (Every(1, NOW), "Every second, counted from 2027-03-01 12:00:00 UTC."),
        (Every(5400, NOW), "Every 1 hour and 30 minutes, counted from 2027-03-01 12:00:00 UTC."),
        (Every(60, NOW + timedelta(microseconds=794828)), "Every minute, counted from 2027-03-01 12:00:00 UTC."),
        (Every(86_400, NOW), "Every 24 hours, counted from 2027-03-01 12:00:00 UTC."),
        (Every(7 * 86_400, NOW), "Every 7 days, counted from 2027-03-01 12:00:00 UTC."),
        (
            Bounded(Every(60, NOW), end_at=NOW + timedelta(days=1, microseconds=5), max_runs=1),
            "Every minute, counted from 2027-03-01 12:00:00 UTC. Not after 2027-03-02 12:00:00.000005 UTC. "
            "1 run at most.",
        ),
        (
            Bounded(Cron("0 9 * * *"), NOW, max_runs=1000),
            "At 09:00 every day, UTC. Not before 2027-03-01 12:00:00 UTC. 1,000 runs at most.",
        ),
        (
            Jittered(Cron("0 9 * * *"), 90),
            "At 09:00 every day, UTC. Each run starts up to 1 minute and 30 seconds late, to spread the load.",
        ),
        (
            Cron("30 2 * * *", "Europe/Paris", on_gap=OnGap.SKIP, on_repeat=OnRepeat.RUN_TWICE),
            "At 02:30 every day, Paris time. Times that the clocks skip are left out. "
            "Times that the clocks show twice run both times.",
        ),
        (
            Cron("30 2 * * *", "Europe/Paris", on_repeat=OnRepeat.SKIP),
            "At 02:30 every day, Paris time. Times that the clocks show twice are left out.",
        ),
    ],
)
def test_a_schedule_in_words(recurrence: Recurrence, words: str) -> None:
    assert describe(recurrence) == words


def test_what_was_picked_for_a_job_is_told_from_an_example() -> None:
    cron = Cron("H(10-19) 9 * * *", seed="a job")

    assert re.fullmatch(r"At 09:1\d every day, UTC\. H stands for values picked for this job\.", describe(cron))
    assert describe(Cron("H 9 * * *")).endswith("H stands for values picked for each job; those shown are an example.")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("UTC", "UTC"),
        ("Asia/Jakarta", "Jakarta time"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
        ("Etc/GMT+5", "Etc/GMT+5 time"),  # which is five hours behind: no place to shorten it to
        ("US/Eastern", "US/Eastern time"),
        ("Japan", "Japan time"),
    ],
)
def test_a_zone_is_called_after_its_place(name: str, place: str) -> None:
    assert place_named(name) == place
    assert all(place_named(zone) for zone in zone_names())


@settings(max_examples=300, deadline=None, database=None)
@given(expressions, seeds)
def test_every_expression_has_words_and_none_of_its_own_signs_in_them(expression: str, seed: str | None) -> None:
    words = describe(Cron(expression, "UTC", seed))

    sentence = words.partition(", UTC.")[0]
    assert re.fullmatch(r"(At|Every) [A-Za-z0-9:, ]+", sentence)
    assert "  " not in sentence
    assert not sentence.endswith(",")
    assert not re.search(r"\b(H|L|none|None)\b|,,| ,", sentence)


@settings(max_examples=100, deadline=None, database=None)
@given(recurrences)
def test_every_schedule_has_words(recurrence: Recurrence) -> None:
    words = describe(recurrence)

    assert words.endswith(".")
    assert words.isascii()


def test_different_times_of_the_day_are_never_given_the_same_words() -> None:
    minutes = {
        f"{first}-{last}/{step}" for first in (0, 1, 7, 30) for last in (30, 45, 59) for step in (1, 2, 7, 15, 30)
    }
    hours = {f"{first}-{last}/{step}" for first in (0, 1, 9) for last in (9, 12, 22, 23) for step in (1, 2, 6)}
    minutes |= {"*", "0", "59", "*/20", "0,20,40", "0,30", "1,31", "0,20", "0-2,40,59", "59,1"}
    hours |= {"*", "0", "23", "1,3", "0,12", "1,2,3,5", "0,6,12,18"}
    told: dict[str, tuple[frozenset[int], frozenset[int]]] = {}

    for minute in sorted(minutes):
        for hour in sorted(hours):
            meant = MINUTE.read(minute), HOUR.read(hour)
            numbers = meant[0].numbers, meant[1].numbers
            assert told.setdefault(times_in_words(*meant), numbers) == numbers
