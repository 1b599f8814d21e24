"""The unit of time u: one configuration in batched forward kinematics of panda's hand.

    python -m unit          (in benchmarks/) prints it, in nanoseconds

Figures in u compare across machines. The kernel is a copy (kernel/) that stays as it is, compiled when first needed.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

_OPTIONS = (
    "-std=c++20",
    "-O3",
    "-shared",
    "-fPIC",
    "-w",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
)


def unit_seconds(repeats: int = 2000) -> float:
    """Seconds of one u, the least of many runs on one thread."""
    return float(_library().unit_seconds(repeats, None))


def hand_at_zero() -> np.ndarray:
    """The pose (4, 4) of the hand at the configuration zero, as the copy computes it."""
    pose = np.empty((4, 4))
    _library().unit_seconds(1, pose.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
    return pose


@cache
def _library() -> ctypes.CDLL:
    here = Path(__file__).parent
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    options = [*_OPTIONS]
    if " avx2" in flags and " fma" in flags:
        options += ["-mavx2", "-mfma", "-mbmi2"]
        if " avx512dq" in flags and " avx512vl" in flags:
            options += ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "unit.so"
        command = ["c++", *options, "-DMEMETIK_ARCH=arch_unit", f"-I{here / 'kernel'}", str(here / "unit.cpp")]
        subprocess.run([*command, "-o", str(target)], check=True)
        library = ctypes.CDLL(str(target))
    library.unit_seconds.restype = ctypes.c_double
    library.unit_seconds.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_double)]
    return library
