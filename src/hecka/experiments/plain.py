"""Frozen dataclasses as JSON and back, and how two of them differ.

Dataclasses become objects, tuples lists, paths strings.  Since a field may hold one of several dataclasses, each object
says which it is under ``"settings"``.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hecka.errors import InputError, nearest

T = TypeVar("T")
TAG = "settings"


def to_plain(value: Any) -> Any:
    """Dicts, lists, strings, numbers, booleans and None.

    >>> from hecka.experiments.recipe import MembersSettings
    >>> to_plain(MembersSettings(3))
    {'settings': 'MembersSettings', 'count': 3, 'hypernetwork': None, 'density': None}
    """
    if is_dataclass(value):
        own = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        return {TAG: type(value).__name__, **own}
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def from_plain(kind: type[T], plain: Any, where: str = "config") -> T:
    """The exact inverse of ``to_plain``; a field that the writer did not know yet has its default.

    So a new field's default has to be what was done before there was the field, unless it decides nothing but speed.

    >>> from hecka.experiments.recipe import MembersSettings
    >>> from_plain(MembersSettings, to_plain(MembersSettings(3))) == MembersSettings(3)
    True
    """
    value: T = _read(kind, plain, where)
    return value


def differences(now: Any, before: Any, where: str = "") -> list[str]:
    """One line for every value that differs between two plain trees.

    >>> differences({"a": {"b": 1}}, {"a": {"b": 2}})
    ['a.b: expected 1, came 2']
    """
    if isinstance(now, Mapping) and isinstance(before, Mapping):
        lines = []
        for name in {**now, **before}:
            inner = f"{where}.{name}" if where else str(name)
            lines += differences(now.get(name, "nothing"), before.get(name, "nothing"), inner)
        return lines
    return [] if now == before else [f"{where}: expected {now}, came {before}"]


def _read(kind: Any, plain: Any, where: str) -> Any:
    origin, options = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_either(options, plain, where)
    if origin is Literal:
        return _expect(plain in options, plain, where, f"one of {options}")
    if origin is tuple:
        _expect(isinstance(plain, list), plain, where, "a list")
        return tuple(_read(options[0], each, where) for each in plain)
    if is_dataclass(kind):
        return _read_dataclass(kind, plain, where)
    if kind is Path:
        return Path(_expect(isinstance(plain, str), plain, where, "a path"))
    if kind is float:
        fits = isinstance(plain, int | float) and not isinstance(plain, bool)
        return float(_expect(fits, plain, where, "a number"))
    return _expect(type(plain) is kind, plain, where, f"a value of type {kind.__name__}")


def _read_either(options: tuple[Any, ...], plain: Any, where: str) -> Any:
    if isinstance(plain, Mapping):
        named: dict[str, Any] = {option.__name__: option for option in options if isinstance(option, type)}
        chosen = str(plain.get(TAG))
        if chosen not in named:
            raise InputError(f"{where}: no settings are called {chosen!r}; {nearest(chosen, named)}")
        return _read(named[chosen], plain, where)
    for option in options:
        if is_dataclass(option):
            continue
        try:
            return _read(option, plain, where)
        except InputError:
            continue  # another option may fit
    return _expect(False, plain, where, " or ".join(map(str, options)))


def _read_dataclass(kind: Any, plain: Any, where: str) -> Any:
    _expect(isinstance(plain, Mapping), plain, where, f"the fields of {kind.__name__}")
    hints = get_type_hints(kind)
    given = {name: value for name, value in plain.items() if name != TAG}
    needed = {field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING}
    if odd := sorted((given.keys() - hints.keys()) | (needed - given.keys())):
        raise InputError(
            f"{where}: expected the fields of this version's {kind.__name__}, got others ({', '.join(odd)} on one side "
            "alone); use the hecka that wrote the file"
        )
    return kind(**{name: _read(hints[name], value, f"{where}.{name}") for name, value in given.items()})


def _expect(holds: bool, plain: Any, where: str, what: str) -> Any:
    if not holds:
        raise InputError(f"{where}: expected {what}, got {plain!r}")
    return plain
