"""Reads from a function's signature what payload its task expects, and how it is to be called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, create_model

from execution.run import Run

Handler = Callable[[Any, Any], Any]
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class UnclearHandler(TypeError):
    """From this signature nobody can tell what the payload is."""


def understood(function: Callable[..., Any], payload: type[BaseModel] | None) -> tuple[Handler, type[BaseModel]]:
    """The function as something that is called with the payload and the run, and the payload's model.

    The payload is the first parameter, annotated with a pydantic model, or it is all parameters but `run`: then the
    model is made of these. Whoever needs no `run` leaves it out.
    """
    if payload is not None:
        return function if _wants_run(function) else _without_run(function), payload
    parameters = list(_parameters(function).values())
    if parameters and _is_model(parameters[0].annotation):
        return understood(function, parameters[0].annotation)
    fields = {one.name: _field(function, one) for one in parameters if not _is_run(one)}
    model = create_model(_title(function), __config__=ConfigDict(extra="forbid"), **fields)
    run = next((one.name for one in parameters if _is_run(one)), None)
    return _with_fields(function, run), model


def understood_batch(function: Callable[..., Any], payload: type[BaseModel] | None) -> tuple[Handler, type[BaseModel]]:
    """The same for a handler of many: its first parameter is a list of models, its second one of runs."""
    if payload is None:
        first = next(iter(_parameters(function).values()), None)
        payload = next((one for one in get_args(first.annotation) if _is_model(one)), None) if first else None
    if payload is None or not _wants_run(function):
        raise UnclearHandler(
            f"{_name(function)}: a handler of batches has two parameters, the payloads and the runs, "
            "as in `def send(mails: list[Mail], runs: list[Run])`, with a pydantic model."
        )
    return function, payload


def _parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    try:
        return dict(signature(function, eval_str=True).parameters)
    except NameError as error:
        raise UnclearHandler(
            f"{_name(function)}: {error}. Import what its annotations name where it runs, not for type checkers only."
        ) from None


def _wants_run(function: Callable[..., Any]) -> bool:
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
    parameters = signature(function).parameters.values()
    some = [one for one in parameters if one.kind in positional]
    return len(some) != 1 or some[0].kind is Parameter.VAR_POSITIONAL


def _without_run(function: Callable[..., Any]) -> Handler:
    @wraps(function)
    def handler(payload: Any, run: Any) -> Any:
        return function(payload)

    return handler


def _with_fields(function: Callable[..., Any], run_as: str | None) -> Handler:
    @wraps(function)
    def handler(payload: BaseModel, run: Run) -> Any:
        fields = dict(payload)
        if run_as is not None:
            fields[run_as] = run
        return function(**fields)

    return handler


def _field(function: Callable[..., Any], parameter: Parameter) -> tuple[Any, Any]:
    if parameter.kind not in NAMED or parameter.annotation is Parameter.empty:
        raise UnclearHandler(
            f"{_name(function)}: what may {parameter} be? Annotate it, as in `{parameter.name}: str`, "
            "or give the task a pydantic model: @task(…, payload=Model)."
        )
    return parameter.annotation, ... if parameter.default is Parameter.empty else parameter.default


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _is_run(parameter: Parameter) -> bool:
    return parameter.annotation is Run or (parameter.name == "run" and parameter.annotation is Parameter.empty)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))


def _title(function: Callable[..., Any]) -> str:
    return "".join(word.capitalize() for word in _name(function).rpartition(".")[2].split("_")) or "Payload"
