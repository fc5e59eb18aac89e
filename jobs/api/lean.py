"""DRF's serializer without its detours: fields that were not sent are not asked, and plain values pass as they are.

With a thousand jobs in one call, DRF's share was larger than the database's. The rules stay with the fields;
what comes out is the same once it is rendered, because the renderer writes ids and times as DRF's fields do.
Nothing is kept of what was asked, so one serializer may serve all requests; `validate_<field>` is not called.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter
from typing import Any

from rest_framework import serializers
from rest_framework.fields import Field, SkipField, empty
from rest_framework.settings import api_settings

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
    def read(self, data: Any) -> dict[str, Any]:
        """The values that `data` sets, or a ValidationError: DRF's `is_valid` and `validated_data` in one."""
        if data is None:
            raise serializers.ValidationError({api_settings.NON_FIELD_ERRORS_KEY: ["No data provided"]})
        return self.run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return super().to_internal_value(data)
        self.refuse_unknown(data)
        values, errors = {}, {}
        for name, field in self._settable.items():
            if name in data or field.required:  # most jobs name few
                try:
                    values[field.source] = field.run_validation(data.get(name, empty))
                except serializers.ValidationError as error:
                    errors[name] = error.detail
                except SkipField:  # a required one, in a partial update
                    pass
        if errors:
            raise serializers.ValidationError(errors)
        return values

    def run_validators(self, value: Any) -> None:
        """Rules that span fields. Mostly there are none, and then DRF need not gather for them what nobody may set."""
        if self.validators:
            super().run_validators(value)

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
