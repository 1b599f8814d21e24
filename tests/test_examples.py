"""The examples run, print their figures and write what they show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LONG = {"17_reach.py"}


@pytest.mark.unsanitized
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path.name, marks=[pytest.mark.soak] if path.name in LONG else [])
        for path in sorted(EXAMPLES.glob("[0-9]*.py"))
    ],
)
def test_example_runs(script, tmp_path):
    environment = os.environ | {"MEMETIK_EXAMPLE_FRAMES": "2", "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()
    assert list((tmp_path / "out/examples").iterdir())
