"""The one error a schedule can raise, and how a rejected value is quoted in it."""

LONGEST_QUOTE = 40  # enough to recognise a value, too short to fill a log with it
LARGEST_QUOTE = 10**15  # past this a number is easier to recognise as "too large"


class InvalidSchedule(ValueError):
    """A schedule that cannot be accepted: `field` is the key at fault, the text says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return self.message


def quoted(value: object) -> str:
    """Return `value` as it may safely appear in a message: short, ASCII, one line.

    Only texts and numbers are spelled out. Anything else may nest deeper than `repr` can follow,
    so it is named by its type.
    """
    if isinstance(value, str):
        shown = ascii(value[:LONGEST_QUOTE])
        return shown if len(value) <= LONGEST_QUOTE else f"{shown}..."
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) < LARGEST_QUOTE else "a number that large"
    return f"a {type(value).__name__}"
