"""The kernels on each instruction set of this machine: forced by MEMETIK_ARCH, equal to each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from axis_trees import Batch, random_tree

from memetik import _core

HERE = Path(__file__).parent
RESULTS = """
import sys
import numpy as np
from memetik import _core
from test_architectures import sample
np.savez(sys.argv[1], architecture=_core.architecture(), **sample())
"""


def sample() -> dict[str, np.ndarray]:
    """Every function on a few trees, with rows enough for whole and partial tiles and angles of all sizes."""
    results = {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, axes=4 * seed + 1)
        q = rng.uniform(-3.0, 3.0, (53, tree["dof"]))
        for name, result in Batch(tree).everything(3, 9, q).items():
            results[f"{name} {seed}"] = result
    return results


def run(code: list[str], architecture: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "MEMETIK_ARCH"}
    if architecture is not None:
        environment["MEMETIK_ARCH"] = architecture
    return subprocess.run(
        [sys.executable, *code], env=environment, cwd=HERE, capture_output=True, text=True, check=False
    )


def test_the_best_instruction_set_is_chosen_and_the_baseline_is_always_there() -> None:
    assert "baseline" in _core.architectures()
    chosen = run(["-c", "from memetik import _core; print(_core.architecture())"], None)
    assert chosen.stdout.strip() == _core.architectures()[-1]


@pytest.mark.parametrize("architecture", _core.architectures())
def test_each_instruction_set_gives_the_same_results(architecture: str, tmp_path: Path) -> None:
    done = run(["-c", RESULTS, str(tmp_path / "results.npz")], architecture)
    assert done.returncode == 0, done.stderr
    results = np.load(tmp_path / "results.npz")
    assert results["architecture"] == architecture
    for name, wanted in sample().items():
        scale = max(1.0, np.max(np.abs(wanted), initial=0.0))
        np.testing.assert_allclose(results[name] / scale, wanted / scale, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("architecture", [name for name in _core.architectures() if name != _core.architecture()])
def test_the_tests_of_kinematics_hold_on_the_other_instruction_sets(architecture: str) -> None:
    files = ["test_kinematics.py", "test_binding.py"]
    done = run(["-m", "pytest", "-x", "-p", "no:cacheprovider", *files], architecture)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["sse9", "AVX2", "avx2 ", "\u00e9"])
def test_an_unknown_instruction_set_is_an_import_error_that_names_the_choices(name: str) -> None:
    done = run(["-c", "from memetik import _core"], name)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: The environment variable MEMETIK_ARCH is")
    assert ", ".join(_core.architectures()) in last


def test_an_empty_choice_is_no_choice() -> None:
    assert run(["-c", "from memetik import _core"], "").returncode == 0
