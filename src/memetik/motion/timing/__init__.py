"""Paths become trajectories: limits, timing, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memetik.motion.timing.timing import time_path as time_path


def __getattr__(name: str) -> Any:
    # Late: proofs of motions use the polynomials of this package, and timing uses the proofs.
    if name == "time_path":
        from memetik.motion.timing.timing import time_path

        return time_path
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
