"""DRF's serializer without its detours: fields that were not sent are not asked, and plain values pass as they are.

With a thousand jobs in one call, DRF's share was larger than the database's. The rules stay with the fields;
what comes out is the same once it is rendered, because the renderer writes ids and times as DRF's fields do.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter
from typing import Any

from rest_framework import serializers
from rest_framework.fields import Field

from jobs.api.strict import StrictSerializer

# The fields that show what the renderer would make of the value anyway. One that overrides this is asked.
PLAIN = {
    kind.to_representation
    for kind in (
        serializers.BooleanField,
        serializers.CharField,
        serializers.ChoiceField,
        serializers.DateTimeField,
        serializers.FloatField,
        serializers.IntegerField,
        serializers.JSONField,
        serializers.UUIDField,
    )
}


class LeanSerializer(StrictSerializer, serializers.ModelSerializer):
    _sent: Any = ()

    def to_internal_value(self, data: Any) -> Any:
        self._sent = data
        return super().to_internal_value(data)

    def run_validators(self, value: Any) -> None:
        """Rules that span fields. Mostly there are none, and then DRF need not gather for them what nobody may set."""
        if self.validators:
            super().run_validators(value)

    @property
    def _writable_fields(self) -> list[Field]:
        """What DRF asks for values: of the optional fields only those that were sent, most jobs name few."""
        return [field for name, field in self._settable.items() if name in self._sent or field.required]

    @cached_property
    def _plain(self) -> tuple[list[str], attrgetter]:
        names = [name for name, field in self.fields.items() if _is_plain(field)]
        return names, attrgetter(*(self.fields[name].source for name in names))

    @cached_property
    def _blank(self) -> dict[str, None]:
        return {field.field_name: None for field in self._readable_fields}

    @cached_property
    def _asked(self) -> list[Field]:
        return [field for field in self._readable_fields if not _is_plain(field)]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        names, read = self._plain
        shown: dict[str, Any] = self._blank | dict(zip(names, read(instance), strict=True))
        for field in self._asked:
            value = field.get_attribute(instance)
            shown[field.field_name] = None if value is None else field.to_representation(value)
        return shown


def _is_plain(field: Field) -> bool:
    return not field.write_only and "." not in field.source and type(field).to_representation in PLAIN
