"""Reading what was sent, and ignoring nothing of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

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
