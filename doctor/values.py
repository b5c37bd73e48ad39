"""Provides dataclasses that cost almost nothing until they are used, and properties that are computed once.

`dataclasses.dataclass` compiles several methods for each class when the class is defined, and the module
itself is slow to import. Together this takes longer than reading a short report. Here, all classes share the
methods, and `__init__` is compiled when a class is used. `dataclass`, `field` and `replace` work as in
`dataclasses`, but have only the features that the tool uses. Type checkers, `dataclasses.replace`, `fields`
and `is_dataclass`, and pickle treat the classes as dataclasses; but attributes that are not parameters of
`__init__` are not fields to them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Dict, NoReturn, TypeVar

T = TypeVar("T")
_set = object.__setattr__
USES = ("compare", "repr", "hash")
"""The generated methods for which a field can be left out."""


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 (as in the standard library)
        """A property that is computed once for each object, without a lock, as in Python 3.12."""

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
    """The attribute `__dataclass_fields__` of a class, created at its first use."""

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        import dataclasses

        known: dict[type, dict[str, Any]] = _FIELDS
        if owner not in known:
            described = [
                (name, Any, _described(owner, name))
                for name in owner.__match_args__  # type: ignore[attr-defined]
            ]
            made: Any = dataclasses.make_dataclass(
                owner.__name__, described, namespace={"__doc__": "-"}, init=False, repr=False, eq=False
            )
            known[owner] = made.__dataclass_fields__
        return known[owner]


_FIELDS: dict[type, dict[str, Any]] = {}


def _described(owner: Any, name: str) -> Any:
    import dataclasses

    left_out = {use: name not in getattr(owner, f"__value_{use}__") for use in USES}
    default = {"default": owner.__value_defaults__[name]} if name in owner.__value_defaults__ else {}
    if name in owner.__value_factories__:
        default = {"default_factory": owner.__value_factories__[name]}
    options: dict[str, Any] = {use: False for use, left in left_out.items() if left}
    return dataclasses.field(**default, **options)


def _compiled(cls: Any) -> Callable[..., None]:
    """Compile and return the `__init__` of a class. Its parameters are the fields of the class, with their
    defaults."""
    names, defaults, factories = cls.__match_args__, cls.__value_defaults__, cls.__value_factories__
    parameters = "".join(
        f", {n}=_defaults[{n!r}]" if n in defaults else f", {n}=_set" if n in factories else f", {n}"
        for n in names
    )
    body = "".join(f"\n    if {n} is _set: {n} = _factories[{n!r}]()" for n in factories if n in names)
    body += "".join(f"\n    {n} = _factories[{n!r}]()" for n in factories if n not in names)
    slots = {n for n in (*names, *factories) if hasattr(getattr(cls, n, None), "__set__")}
    body += "".join(
        f"\n    _set_{n}(self, {n})" if n in slots else f"\n    self.__dict__[{n!r}] = {n}"
        for n in dict.fromkeys((*names, *factories))
    )
    body = body or "\n    pass"
    if hasattr(cls, "__post_init__"):
        body += "\n    self.__post_init__()"
    space: dict[str, Any] = {"_set": _set, "_defaults": defaults, "_factories": factories}
    space.update({f"_set_{n}": getattr(cls, n).__set__ for n in slots})
    exec(f"def __init__(self{parameters}):{body}", space)
    made: Callable[..., None] = space["__init__"]
    return made


def _first_init(self: Any, *args: Any, **named: Any) -> None:
    """Stand in for the `__init__` of a class until the real one is compiled, after a few calls: of many
    classes, a run makes only some objects. A call that needs more than plain assignments, or that is wrong,
    compiles the real one at once."""
    cls = type(self)
    names = cls.__match_args__
    values = {**cls.__value_defaults__, **dict(zip(names, args)), **named}
    _CALLS[cls] = calls = _CALLS.get(cls, 0) + 1
    plain = len(args) <= len(names) and named.keys().isdisjoint(names[: len(args)])
    if calls < FEW and plain and not cls.__value_factories__ and values.keys() == set(names):
        for name in names:
            _set(self, name, values[name])
        if hasattr(cls, "__post_init__"):
            self.__post_init__()
        return
    init = _compiled(cls)
    cls.__init__ = init
    init(self, *args, **named)


_CALLS: dict[type, int] = {}


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
    return [getattr(self, name) for name in self.__match_args__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__match_args__, state):
        _set(self, name, value)


class _Field(Dict[str, Any]):
    """The arguments of `field`."""


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass, field as field, replace as replace
else:

    def dataclass(
        cls: type[T] | None = None, *, frozen: bool = False, slots: bool = False
    ) -> type[T] | Callable[[type[T]], type[T]]:
        """Decorate a class with fields, as in `dataclasses`. Slots work in every Python version."""

        def made(cls: type[T]) -> type[T]:
            return _made(cls, frozen, slots)

        return made if cls is None else made(cls)

    def field(**options: Any) -> Any:
        """Do the same as `dataclasses.field`, with the parameters default, default_factory, init, compare,
        hash and repr."""
        return _Field(options)

    def replace(value: T, /, **changes: Any) -> T:
        """Return a copy of `value` with other values in some fields. Raises TypeError for an unknown
        field."""
        given = {name: getattr(value, name) for name in value.__match_args__}
        given.update(changes)
        return type(value)(**given)


FEW = 12
"""At this number of calls, `__init__` is compiled: that takes as long as about fourteen calls take longer
without it."""
NEEDED = object()
"""Marks a field without a default."""


def fields_of(kind: type) -> dict[str, Any]:
    """Return the fields of a dataclass, each with its default."""
    known: Any = kind
    return {name: known.__value_defaults__.get(name, NEEDED) for name in known.__match_args__}


def _sort_in(
    name: str, value: Any, defaults: dict[str, Any], factories: dict[str, Any], left_out: dict[str, set[str]]
) -> None:
    """Record the default of a field, or the arguments of its `field`, in the class's tables of fields."""
    if not isinstance(value, _Field):
        defaults[name] = value
        return
    if "default" in value:
        defaults[name] = value["default"]
    if "default_factory" in value:
        factories[name] = value["default_factory"]
    compare = value.get("compare", True)
    for use, said in (
        ("init", value.get("init", True)),
        ("compare", compare),
        ("repr", value.get("repr", True)),
        ("hash", compare and value.get("hash") is not False),
    ):
        if not said:
            left_out[use].add(name)


def _made(cls: type[T], frozen: bool, slots: bool) -> type[T]:
    # the annotations of this class only: if it has none, Python 3.8 and 3.9 would return those of its base
    own = list(vars(cls).get("__annotations__", ()) if sys.version_info < (3, 10) else cls.__annotations__)
    space = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    inherited: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}
    factories: dict[str, Callable[[], Any]] = {}
    left_out: dict[str, set[str]] = {use: set() for use in ("init", *USES)}
    for base in reversed(cls.__mro__[1:]):
        known = base.__dict__.get("__match_args__", ())
        inherited += tuple(n for n in known if n not in inherited)
        defaults.update(base.__dict__.get("__value_defaults__", {}))
        factories.update(base.__dict__.get("__value_factories__", {}))
        for use in USES:
            left_out[use] |= set(known) - set(base.__dict__.get(f"__value_{use}__", ()))
    for name in own:
        if name in space:
            _sort_in(name, space.pop(name), defaults, factories, left_out)
    names = (*inherited, *(name for name in own if name not in inherited and name not in left_out["init"]))
    added = {
        "__match_args__": names,
        "__value_defaults__": defaults,
        "__value_factories__": factories,
        **{f"__value_{use}__": tuple(n for n in names if n not in left_out[use]) for use in USES},
        "__dataclass_fields__": _Fields(),
        "__init__": _first_init,
        "__eq__": _eq,
        "__hash__": _hash if frozen else None,
        "__repr__": space.get("__repr__", _repr),
    }
    if frozen:
        added.update(__setattr__=_frozen, __delattr__=_frozen)
    if slots:
        added.update(__getstate__=_getstate, __setstate__=_setstate)
        added["__slots__"] = tuple(name for name in own if name not in inherited)
        made: type[T] = type(cls.__name__, cls.__bases__, {**space, **added})
        return made
    for name in own:
        if name in vars(cls):
            delattr(cls, name)
    for name, value in {**{name: defaults[name] for name in own if name in defaults}, **added}.items():
        setattr(cls, name, value)
    return cls
