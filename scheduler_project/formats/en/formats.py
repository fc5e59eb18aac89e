"""Times to the second: "8:55 a.m." is no answer to when something ran."""

DATETIME_FORMAT = "Y-m-d H:i:s T"
SHORT_DATETIME_FORMAT = "Y-m-d H:i:s T"
