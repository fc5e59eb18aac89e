"""Celery's crontab fields as cron expressions. The oracle is Celery itself: tests/whole/test_celery_beat.py."""

from __future__ import annotations

import pytest

from jobs.celery_beat.crontab import Unreadable, translated


@pytest.mark.parametrize(
    ("fields", "expression"),
    [
        ("30 2 * * 1-5", "30 2 * * 1-5"),
        ("*/15 */2 * JAN-mar *", "*/15 */2 * jan-mar *"),
        ("0 22-4 * * *", "0 0-4,22-23 * * *"),
        ("0 22-4/2 * * *", "0 0,2,4,22 * * *"),
        ("50-10/5 * * * *", "0,5,10,50,55 * * * *"),
        ("0 9 * * monday", "0 9 * * 1"),
        ("0 9 * * Thursday,sun", "0 9 * * 0,4"),
        ("0 9 * * fri-mon", "0 9 * * 0-1,5-6"),
        ("0 9 * nov-feb *", "0 9 * 1-2,11-12 *"),
        ("*/90 9 * * *", "0 9 * * *"),
        ("0 9 1-31 * mon", "0 9 * * mon"),
        ("0 9 1-7 * mon", "0 9 * * 1#1"),
        ("0 9 8-14 * tue,thursday", "0 9 * * 2#2,4#2"),
        ("0 9 1,15 * mon", "0 9 */31,15 * mon"),
        ("0 9 13 * sun-tue", "0 9 13 * */7,1-2"),
        ("0 9 */2 * mon", "0 9 */2 * mon"),
        ("0 9 */40 * mon", "0 9 */31 * mon"),
    ],
)
def test_a_crontab_is_written_as_cron_reads_it(fields: str, expression: str) -> None:
    assert translated(*fields.split()) == (expression, fields.lower() != expression)


@pytest.mark.parametrize(
    "fields",
    [
        *("60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "5/10 * * * *", "*/0 * * * *"),
        *("*-5 * * * *", "x * * * *", "1,,2 * * * *", "-1 * * * *", "* * * * someday", "² * * * *", "* L * * *"),
        "0 9 13 * fri",
    ],
)
def test_what_celery_does_not_read_or_cron_cannot_say_is_refused(fields: str) -> None:
    with pytest.raises(Unreadable):
        translated(*fields.split())
