"""Frozen classes with slots that cost nothing until they are used, and properties that are worked out once.

`dataclasses.dataclass(frozen=True, slots=True)` compiles six methods for each class when it is defined, which takes
longer than a short report takes to read. Here the methods are shared, and `__init__` is compiled when a class is first
called. `dataclasses.field` says the same as there. To type checkers, to `dataclasses.replace`, `fields` and `is_dataclass`, and to pickle they are dataclasses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

T = TypeVar("T")
_set = object.__setattr__


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 (as in the standard library)
        """A property that is worked out once for each object: that of Python 3.12, which takes no lock for it."""

        def __init__(self, make: Callable[[Any], Any]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._make(instance)
            return value


class _Fields:
    """`__dataclass_fields__` of a class, made when somebody asks."""

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        import dataclasses

        known: dict[type, dict[str, Any]] = _FIELDS
        if owner not in known:
            described = [
                (name, Any, _described(owner, name))
                for name in owner.__match_args__  # type: ignore[attr-defined]
            ]
            made: Any = dataclasses.make_dataclass(owner.__name__, described)
            known[owner] = made.__dataclass_fields__
        return known[owner]


_FIELDS: dict[type, dict[str, Any]] = {}


def _described(owner: Any, name: str) -> Any:
    import dataclasses

    left_out = {use: name not in getattr(owner, f"__value_{use}__") for use in ("hash", "compare", "repr")}
    default = {"default": owner.__value_defaults__[name]} if name in owner.__value_defaults__ else {}
    if name in owner.__value_factories__:
        default = {"default_factory": owner.__value_factories__[name]}
    options: dict[str, Any] = {use: False for use, left in left_out.items() if left}
    return dataclasses.field(**default, **options)


def _compiled(cls: Any) -> Callable[..., None]:
    """The `__init__` of a class: its fields as parameters, with their defaults."""
    names, defaults, factories = cls.__match_args__, cls.__value_defaults__, cls.__value_factories__
    parameters = "".join(
        f", {n}=_defaults[{n!r}]" if n in defaults else f", {n}=_set" if n in factories else f", {n}" for n in names
    )
    body = "".join(f"\n    if {n} is _set: {n} = _factories[{n!r}]()" for n in factories)
    body += "".join(f"\n    _set_{n}(self, {n})" for n in names) or "\n    pass"
    if hasattr(cls, "__post_init__"):
        body += "\n    self.__post_init__()"
    space: dict[str, Any] = {"_set": _set, "_defaults": defaults, "_factories": factories}
    space.update({f"_set_{n}": getattr(cls, n).__set__ for n in names})
    exec(f"def __init__(self{parameters}):{body}", space)
    made: Callable[..., None] = space["__init__"]
    return made


def _first_init(self: Any, *args: Any, **named: Any) -> None:
    cls = type(self)
    init = _compiled(cls)
    cls.__init__ = init
    init(self, *args, **named)


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__value_compare__)


def _hash(self: Any) -> int:
    return hash(tuple([getattr(self, name) for name in self.__value_hash__]))


def _repr(self: Any) -> str:
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__value_repr__)
    return f"{type(self).__qualname__}({inside})"


def _frozen(self: object, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return list(_values(self))


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__match_args__, state):
        _set(self, name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool) -> Callable[[type[T]], type[T]]:
        """A decorator for classes of plain fields. Raises TypeError for anything but frozen classes with slots."""
        if not (frozen and slots):
            raise TypeError("values are frozen and have slots")
        return _made


def _sort_in(
    name: str, value: Any, defaults: dict[str, Any], factories: dict[str, Any], left_out: dict[str, set[str]]
) -> None:
    """Take a field's default, or what `dataclasses.field` says of it."""
    if type(value).__name__ != "Field":
        defaults[name] = value
        return
    from dataclasses import MISSING

    if value.default is not MISSING:
        defaults[name] = value.default
    if value.default_factory is not MISSING:
        factories[name] = value.default_factory
    for use, said in (
        ("compare", value.compare),
        ("repr", value.repr),
        ("hash", value.compare and value.hash is not False),
    ):
        if not said:
            left_out[use].add(name)


def _made(cls: type[T]) -> type[T]:
    # of this class alone: where it has none, Python 3.8 and 3.9 would give those of its base
    own = list(vars(cls).get("__annotations__", ()) if sys.version_info < (3, 10) else cls.__annotations__)
    space = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    inherited: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}
    factories: dict[str, Callable[[], Any]] = {}
    left_out: dict[str, set[str]] = {"hash": set(), "compare": set(), "repr": set()}
    for base in reversed(cls.__mro__[1:]):
        inherited += tuple(n for n in base.__dict__.get("__slots__", ()) if n not in inherited)
        defaults.update(base.__dict__.get("__value_defaults__", {}))
        factories.update(base.__dict__.get("__value_factories__", {}))
        for use, left in left_out.items():
            left |= set(base.__dict__.get("__match_args__", ())) - set(base.__dict__.get(f"__value_{use}__", ()))
    for name in own:
        if name in space:
            _sort_in(name, space.pop(name), defaults, factories, left_out)
    names = (*inherited, *(name for name in own if name not in inherited))
    space.update(
        __slots__=tuple(name for name in own if name not in inherited),
        __match_args__=names,
        __value_defaults__=defaults,
        __value_factories__=factories,
        **{f"__value_{use}__": tuple(n for n in names if n not in left) for use, left in left_out.items()},
        __dataclass_fields__=_Fields(),
        __init__=_first_init,
        __eq__=_eq,
        __hash__=_hash,
        __setattr__=_frozen,
        __delattr__=_frozen,
        __getstate__=_getstate,
        __setstate__=_setstate,
    )
    space.setdefault("__repr__", _repr)
    made: type[T] = type(cls.__name__, cls.__bases__, space)
    return made
