"""The stubs say what the native module has, and both faces have the same methods."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import context_layer
import pytest
from context_layer import _native

STUBS = ast.parse(Path(context_layer.__file__).with_name("_native.pyi").read_text())
CLASSES = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef)}
FACES = ["Store", "Chat", "Agents", "Turn"]


def stubbed(name: str) -> dict[str, list[str]]:
    """The methods of a class, with the names of their arguments."""
    return {
        node.name: [argument.arg for argument in node.args.args + node.args.kwonlyargs]
        for node in CLASSES[name].body
        if isinstance(node, ast.FunctionDef)
    }


def public(name: str) -> dict[str, object]:
    members = vars(getattr(_native, name))
    return {member: value for member, value in members.items() if not member.startswith("_")}


@pytest.mark.parametrize("name", FACES + [f"Async{name}" for name in FACES])
def test_stubs_name_each_method_and_its_arguments(name: str) -> None:
    stubs, native = stubbed(name), public(name)
    assert set(stubs) == set(native)
    for method, value in native.items():
        if callable(value) and not isinstance(value, staticmethod):
            assert stubs[method] == list(inspect.signature(value).parameters), method
        assert getattr(value, "__doc__", None), f"{name}.{method} has no documentation"


@pytest.mark.parametrize("name", FACES)
def test_both_faces_have_the_same_methods(name: str) -> None:
    crossing = {"to_async", "to_blocking"}
    blocking, asyncio = stubbed(name), stubbed(f"Async{name}")
    assert {**blocking, **dict.fromkeys(crossing)} == {**asyncio, **dict.fromkeys(crossing)}


def test_every_name_of_the_module_is_stubbed_and_exported() -> None:
    top = {node.name for node in STUBS.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    top |= {node.target.id for node in STUBS.body if isinstance(node, ast.AnnAssign)}
    native = {name for name in vars(_native) if not name.startswith("_") or name == "__version__"}
    assert top == native
    assert native <= set(context_layer.__all__)


def test_the_package_is_typed() -> None:
    assert Path(context_layer.__file__).with_name("py.typed").is_file()
