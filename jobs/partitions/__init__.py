"""Executions in partitions by time, for installations that let go of more history than can be deleted row by row.

PostgreSQL only, and only where an operator asked for it: everything else works on either kind of table and does not
know which it is. An execution's id begins with its due time, so a range of ids is a range of time and the primary key
stays what it is. What no partition is for, such as a backfill of a time whose partition was dropped, goes to the
default one.
"""

from jobs.partitions.converting import CannotConvert, convert
from jobs.partitions.dropping import Dropped, drop_before
from jobs.partitions.layout import Partition, partitioned, partitions
from jobs.partitions.making import make_ahead
from jobs.partitions.places import LEAST_KEPT

__all__ = [
    "LEAST_KEPT",
    "CannotConvert",
    "Dropped",
    "Partition",
    "convert",
    "drop_before",
    "make_ahead",
    "partitioned",
    "partitions",
]
