"""Every module of motion can be the first that is imported: none relies on another having been there before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import memetik

SCRIPT = """
import importlib, os, sys
import memetik, memetik._core
broken = []
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(name, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    broken += [name] if os.waitpid(child, 0)[1] else []
sys.exit(bool(broken))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each module is tried in a process of its own")
def test_every_module_can_be_imported_first():
    root = Path(memetik.__file__).parent
    files = sorted((root / "motion").rglob("*.py"))
    names = [".".join(("memetik", *file.relative_to(root).with_suffix("").parts)) for file in files]
    names = [name.removesuffix(".__init__") for name in names]
    assert len(names) > 30
    done = subprocess.run([sys.executable, "-c", SCRIPT, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
