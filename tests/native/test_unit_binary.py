"""The native unit tests, native/tests: lanes, trees, closed forms, distance fields, planners, timing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memetik import _core

BUILD = Path(__file__).parents[2] / "build"


def newest_binary() -> Path | None:
    found = [path for path in BUILD.glob("*/memetik_tests") if os.access(path, os.X_OK)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


@pytest.mark.parametrize("architecture", _core.architectures())
def test_native_unit_tests_pass_on_every_instruction_set(architecture):
    binary = newest_binary()
    if binary is None:
        pytest.skip("the native unit tests are not built here: doctest was not found (`make test` says so)")
    environment = {**os.environ, "MEMETIK_ARCH": architecture}
    run = subprocess.run([binary, "--no-colors"], env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr
    assert "0 failed" in run.stdout
