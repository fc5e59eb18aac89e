"""What a migration may not do to tables that the previous release still works with: docs/operations.md#upgrades.

States are compared, as migrations make them, so nothing is asked of a database. What SQL of one's own does
(`RunSQL`, `RunPython`) is not seen here; tests/whole/test_upgrade.py runs the old release on the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from tests.previous import Release


def released(release: Release) -> ProjectState:
    """The tables that the release has made, and whatever its migrations need of others."""
    return MigrationLoader(None).project_state(list(release.migrations.items()))


def steps_since(release: Release) -> Iterator[tuple[str, ProjectState]]:
    """Every migration after that, by name, with the state it leaves."""
    loader = MigrationLoader(None)
    state = released(release)
    known = set(_plan(loader, list(release.migrations.items())))
    for node in _plan(loader, [leaf for leaf in loader.graph.leaf_nodes() if leaf[0] in release.migrations]):
        if node not in known:
            state = loader.graph.nodes[node].mutate_state(state)
            yield ".".join(node), state


def taken_away(before: ProjectState, now: ProjectState) -> list[str]:
    """What an old process reads or writes and no longer finds, or finds too narrow."""
    return [told for model, old in _ours(before) for told in _taken_away(model, old, now)]


def demanded(before: ProjectState, now: ProjectState) -> list[str]:
    """What an old process would have to write without knowing of it."""
    return [told for model, old in _ours(before) if model in now.models for told in _demanded(model, old, now)]


def _taken_away(model: tuple[str, str], old: type[models.Model], now: ProjectState) -> Iterator[str]:
    name = ".".join(model)
    if model not in now.models or _model(now, model)._meta.db_table != old._meta.db_table:
        yield f"{name} is gone: the previous release still uses it. Remove what nobody uses in the release after."
        return
    columns = {field.column: field for field in _model(now, model)._meta.local_concrete_fields}
    for field in old._meta.local_concrete_fields:
        if field.column not in columns:
            yield f"{name}.{field.column} is gone, and the previous release uses it. A rename adds, and removes later."
        elif field.null and not columns[field.column].null:
            yield f"{name}.{field.column} may no longer be empty, and the previous release leaves it so."
        elif not _fits(field, columns[field.column]):
            yield f"{name}.{field.column} no longer holds what the previous release writes: add another column instead."


def _demanded(model: tuple[str, str], old: type[models.Model], now: ProjectState) -> Iterator[str]:
    name = ".".join(model)
    known = {field.column for field in old._meta.local_concrete_fields}
    for field in _model(now, model)._meta.local_concrete_fields:
        if field.column not in known and not (field.null or field.generated or field.has_db_default()):
            yield f"{name}.{field.column} has to be given, and the previous release does not know it: add a db_default."
    kept = {constraint.name for constraint in old._meta.constraints}
    for constraint in _model(now, model)._meta.constraints:
        if constraint.name not in kept:
            yield f"{name} has a new constraint, {constraint.name}: what the previous release writes may break it."


def _fits(old: models.Field, new: models.Field) -> bool:
    if old.db_type(connection) == new.db_type(connection):
        return True
    wider = None if old.max_length is None else new.max_length is None or new.max_length >= old.max_length
    return type(old) is type(new) and bool(wider)


def _ours(state: ProjectState) -> Iterator[tuple[tuple[str, str], type[models.Model]]]:
    apps = {app for app, _ in state.models} - {"auth", "contenttypes"}
    return ((model, _model(state, model)) for model in sorted(state.models) if model[0] in apps)


def _model(state: ProjectState, model: tuple[str, str]) -> type[models.Model]:
    return state.apps.get_model(*model)


def _plan(loader: MigrationLoader, nodes: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(step for node in nodes for step in loader.graph.forwards_plan(node)))
