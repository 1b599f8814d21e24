"""The stub that is made from the core."""

import ast
from pathlib import Path

from memetik import _core


def test_the_stub_is_python():
    stub = Path(_core.__file__).with_name("_core.pyi")
    assert ast.parse(stub.read_text())
