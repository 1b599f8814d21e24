"""The public names: one list, all of them loadable, and every class that a public call speaks of is among them."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import pickle
import re
import sys
import types
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import memetik as mk
from memetik import _moved

NAMESPACES = ("doctor", "errors", "goals", "methods", "shapes")
"""Public modules: their own names are public, too."""

SPECIAL = ("__init__", "__getitem__", "__iter__", "__call__")

INTERNAL = ("compile", "layout")
"""Methods without an underscore that no user calls: what a goal tells the compiler, what a model keeps of bodies."""


def public_objects() -> dict[str, object]:
    return {name: getattr(mk, name) for name in mk.__all__}


def reachable_classes() -> set[type]:
    """Classes that a user reaches from `mk` or from one of its public modules."""
    found = [*public_objects().values()]
    for name in NAMESPACES:
        if hasattr(mk, name):
            module = getattr(mk, name)
            found += [getattr(module, own) for own in dir(module) if not own.startswith("_")]
    return {thing for thing in found if isinstance(thing, type)}


def parts(hint: object) -> Iterator[object]:
    """A type and all that it is made of."""
    yield hint
    for argument in typing.get_args(hint):
        if isinstance(argument, list | tuple):
            for entry in argument:
                yield from parts(entry)
        else:
            yield from parts(argument)


def public_annotations() -> Iterator[tuple[str, dict[str, object]]]:
    """The types that every public function, method, property and dataclass is annotated with."""
    for name, thing in public_objects().items():
        if inspect.isfunction(thing):
            yield name, hints_of(thing, thing.__module__)
        if not (isinstance(thing, type) and thing.__module__.startswith("memetik")):
            continue
        if dataclasses.is_dataclass(thing):
            modules = [base.__module__ for base in thing.__mro__ if base.__module__.startswith("memetik")]
            hints = hints_of(thing, *modules)
            yield name, {own: hint for own, hint in hints.items() if not own.startswith("_")}
        for own, member in vars(thing).items():
            function = getattr(member, "__func__", getattr(member, "fget", member))
            is_own = getattr(function, "__module__", None) == thing.__module__ and hasattr(function, "__code__")
            is_generated = is_own and function.__code__.co_filename == "<string>"  # by dataclass
            if (
                is_own
                and not is_generated
                and (not own.startswith("_") or own in SPECIAL)
                and not {own, f"{name}.{own}"} & set(INTERNAL)
            ):
                hints = hints_of(function, function.__module__)
                yield f"{name}.{own}", hints


def hints_of(thing: object, *modules: str) -> dict[str, object]:
    """The annotations of a function or class; names in aliases of other modules are looked for in all."""
    names = dict(names_for_checkers(*modules))
    while True:
        try:
            return typing.get_type_hints(thing, localns=names)
        except NameError as error:
            homes = [vars(module) for name, module in sys.modules.items() if name.startswith("memetik.")]
            names[error.name] = next(home[error.name] for home in homes if error.name in home)


@functools.cache
def names_for_checkers(*modules: str) -> dict[str, object]:
    """What modules import for type checkers only."""
    found = {}
    for module in modules:
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                exec(compile(ast.Module(node.body, []), module, "exec"), found)
    return found


def hidden_classes() -> dict[str, set[str]]:
    """{class of memetik that is not public: public functions that speak of it}."""
    reachable, hidden = reachable_classes(), {}
    for name, hints in public_annotations():
        for hint in hints.values():
            for part in parts(hint):
                home = part.__module__ if isinstance(part, type) else ""
                if home.startswith("memetik.") and home != "memetik._core" and part not in reachable:
                    hidden.setdefault(f"{part.__module__}.{part.__qualname__}", set()).add(name)
    return hidden


def test_every_public_name_can_be_had_and_a_wrong_one_suggests_the_right_one() -> None:
    assert all(thing is not None for thing in public_objects().values())
    assert set(mk.__all__) <= set(dir(mk))
    with pytest.raises(AttributeError, match="did you mean 'load_robot'"):
        _ = mk.load_robt  # type: ignore[attr-defined]


def test_a_subpackage_does_not_hide_the_public_function_of_its_name() -> None:
    mk.combine = types.ModuleType("memetik.combine")  # as the import system does after importing a subpackage
    assert callable(mk.combine)


def test_the_list_of_names_has_one_plain_import_a_line() -> None:
    lines = Path(mk.__file__).with_suffix(".pyi").read_text().splitlines()
    imports = [line for line in lines if "import" in line and not line.startswith('"""')]
    assert all(re.fullmatch(r"from [\w.]+ import (\w+) as \1", line) for line in imports)
    assert len(imports) == len(mk.__all__)


def test_every_class_of_memetik_that_a_public_call_is_annotated_with_is_public() -> None:
    assert not hidden_classes()


def test_every_error_of_the_library_is_public() -> None:
    public_objects()
    errors = [mk.MemetikError]
    for error in errors:
        errors += error.__subclasses__()
    hidden = [
        e for e in errors if not e.__module__.startswith("memetik.bench") and getattr(mk, e.__name__, None) is not e
    ]
    assert not hidden


def test_goals_and_shapes_of_one_name_are_told_apart_by_their_module() -> None:
    assert mk.goals.Plane is mk.Plane
    assert mk.shapes.Plane is not mk.goals.Plane


@pytest.mark.parametrize("old", sorted(_moved.OLD_NAMES))
def test_an_old_name_warns_and_is_the_new_one(old: str) -> None:
    home, _, new = _moved.OLD_NAMES[old].rpartition(".")
    thing = getattr(importlib.import_module(f"memetik.{home}"), new)
    module, _, name = old.rpartition(".")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert getattr(importlib.import_module(f"memetik.{module}"), name) is thing
        assert new not in mk.__all__ or getattr(mk, name) is thing
    assert any(issubclass(entry.category, DeprecationWarning) and new in str(entry.message) for entry in caught)


def test_a_pickle_finds_a_class_that_was_moved_and_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_moved.OLD_NAMES, "solve.reach_proofs.Old", "solve.problem.Problem")
    with pytest.warns(DeprecationWarning, match="is now called Problem"):
        assert pickle.loads(b"cmemetik.solve.reach\nOld\n.") is mk.Problem


def test_every_public_class_and_function_is_in_the_reference() -> None:
    text = (Path(__file__).parents[1] / "docs" / "reference.md").read_text()
    entries = set(re.findall(r"(?m)^::: ([\w.]+)", text))
    for module, members in re.findall(r"(?m)^::: ([\w.]+)\n    options:\n      members: \[([^\]]*)\]", text):
        entries |= {f"{module}.{name.strip()}" for name in members.split(",")}
    things = [thing for thing in public_objects().values() if isinstance(thing, type) or inspect.isfunction(thing)]
    known = [f"{thing.__module__}.{thing.__qualname__}" for thing in things]
    assert [name for name in known if name not in entries and name.rpartition(".")[0] not in entries] == []
