"""Serializers that ignore nothing they are sent, and take nothing for something else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.fields import Field


def validated(kind: type[serializers.Serializer], data: Any) -> dict[str, Any]:
    """The values that `data` has for this kind of serializer, or a ValidationError."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


class StrictSerializer(serializers.Serializer):
    """Refuses fields that cannot be set: a typo that is ignored shows only when the job runs."""

    @cached_property
    def _settable(self) -> dict[str, Field]:
        return {name: field for name, field in self.fields.items() if not field.read_only}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            self.refuse_unknown(data)
        return super().to_internal_value(data)

    def refuse_unknown(self, data: dict) -> None:
        unknown = sorted(data.keys() - self._settable.keys())
        if unknown:
            message = f"cannot be set. Allowed: {', '.join(self._settable)}."
            raise serializers.ValidationError({str(name)[:100]: [message] for name in unknown[:10]})


class IdField(serializers.UUIDField):
    """An id as it is written. DRF's own takes any number for one."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class BoundedListField(serializers.ListField):
    """A list whose length is checked before its items. DRF's own first finds fault with each of 500,000."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > self.max_length:
            raise serializers.ValidationError(self.error_messages["max_length"].format(max_length=self.max_length))
        return super().to_internal_value(data)


class BodySerializer(StrictSerializer):
    """… nor takes one type of JSON for another, as DRF does: "yes" is no boolean, and "5" no number."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            wrong = {name: [f"must be {told}."] for name, told in self._wrong_types(data)}
            if wrong:
                raise serializers.ValidationError(wrong)
        return super().to_internal_value(data)

    def _wrong_types(self, data: dict) -> Iterator[tuple[str, str]]:
        for name, value in data.items():
            field = self._settable.get(name)
            for kind, types, told in TYPES:
                if isinstance(field, kind):
                    # To Python, true is a number.
                    if value is not None and type(value) not in types:
                        yield name, told
                    break


# The first that fits counts.
TYPES: tuple[tuple[type[Field], tuple[type, ...], str], ...] = (
    (serializers.BooleanField, (bool,), "true or false"),
    (serializers.IntegerField, (int,), "a whole number"),
    (serializers.FloatField, (int, float), "a number"),
    (serializers.CharField, (str,), "a string"),
    (serializers.DateTimeField, (str,), "a time such as 2026-11-20T03:30:00Z"),
)
