"""Tests that value classes behave like dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from typing import Any

import pytest

from doctor import facts, values
from doctor.facts import Fact, Gpu, LibraryNotLoaded, Source, Symptom
from doctor.values import cached_property
from tests.sampling import each

SOURCE = Source("train.log", 3, "a line")
KINDS = [k for k in vars(facts).values() if isinstance(k, type) and issubclass(k, Fact)]


@each("kind", KINDS, ids=lambda k: k.__name__)
def test_every_fact_is_a_dataclass_with_its_fields_in_order(kind: type[Fact]) -> None:
    names = [f.name for f in dataclasses.fields(kind)]
    assert names[0] == "source"
    needed = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING]
    made = kind(**{name: SOURCE if name == "source" else name for name in needed})
    assert dataclasses.is_dataclass(made)
    assert not hasattr(made, "__dict__"), "slots"
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)
    assert hash(made) == hash(copy.copy(made))
    assert dataclasses.replace(made) == made
    assert kind(*(getattr(made, name) for name in names)) == made


def test_frozen_value_cannot_be_changed() -> None:
    gpu = Gpu(SOURCE, "T4")
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu.name = "V100"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del gpu.name


def test_values_of_different_classes_are_different() -> None:
    assert Symptom(SOURCE, "x") != facts.Absent(SOURCE, "x")
    assert Gpu(SOURCE, "T4") != Gpu(SOURCE, "V100")
    assert repr(Symptom(SOURCE, "x")).startswith("Symptom(source=Source(where='train.log'")


def test_missing_argument_is_named_in_the_error() -> None:
    with pytest.raises(TypeError, match="name"):
        LibraryNotLoaded(SOURCE)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        Gpu(SOURCE, colour="green")  # type: ignore[call-arg]


def test_values_can_be_matched_by_position() -> None:
    assert Symptom.__match_args__ == ("source", "kind", *Symptom.__match_args__[2:])


def test_options_of_fields_work_as_in_dataclasses() -> None:
    def kinds(module: Any) -> type:
        decorator, field = module.dataclass, module.field

        @decorator(frozen=True, slots=True)
        class Base:
            ref: str
            data: dict[str, int] = field(hash=False, compare=False, repr=False)

        @decorator(frozen=True, slots=True)
        class Row(Base):
            name: str = "x"
            extra: dict[str, int] = field(default_factory=dict, hash=False)

            def __post_init__(self) -> None:
                if not self.ref:
                    raise ValueError("a row without a source")

        return Row

    theirs = dataclasses if sys.version_info >= (3, 10) else values  # before 3.10, without slots
    for kind in (kinds(theirs), kinds(values)):
        first, second = kind("a", {"x": 1}), kind("a", {"y": 2})
        assert first == second
        assert hash(first) == hash(second)
        assert kind("a", {}, extra={"z": 1}) != first
        assert first.extra == {}
        assert first.extra is not second.extra
        assert repr(first).endswith("Row(ref='a', name='x', extra={})")
        assert dataclasses.replace(first, name="y").data == {"x": 1}
        assert [f.name for f in dataclasses.fields(kind) if f.compare] == ["ref", "name", "extra"]
        with pytest.raises(ValueError, match="without a source"):
            kind("", {})


@pytest.mark.parametrize("module", [dataclasses, values], ids=["theirs", "ours"])
def test_a_class_without_slots_is_a_dataclass_too(module: Any) -> None:
    @module.dataclass
    class Place:
        name: str
        parts: list[str] = module.field(default_factory=list)
        seen: set[str] = module.field(default_factory=set, init=False, repr=False, compare=False)

        @property
        def upper(self) -> str:
            return self.name.upper()

    @module.dataclass(frozen=True)
    class Kept:
        name: str
        text: str = "x"
        size: int = module.field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.text))

    first, second = Place("a"), Place(name="a")
    first.seen.add("it")
    assert first == second
    assert first.parts is not second.parts
    assert not second.seen
    assert repr(second).endswith("Place(name='a', parts=[])")
    second.name = "b"
    assert (second.upper, first != second) == ("B", True)
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    kept = Kept("a name", "four")
    assert (kept.size, Kept.text, hash(kept)) == (4, "x", hash(Kept("a name", "four")))
    assert module.replace(kept, text="longer") == Kept("a name", "longer")
    assert module.replace(kept, text="longer").size == 6
    with pytest.raises(dataclasses.FrozenInstanceError):
        kept.text = "y"
    with pytest.raises(TypeError):
        module.replace(kept, colour="red")


def test_a_cached_property_is_computed_once_for_each_object() -> None:
    class Case:
        asked = 0

        @cached_property
        def answer(self) -> int:
            """What was asked for."""
            Case.asked += 1
            return Case.asked

    first, second = Case(), Case()
    assert [first.answer, first.answer, second.answer] == [1, 1, 2]
    assert Case.answer.__doc__ == "What was asked for."
