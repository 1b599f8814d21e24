"""Many elements in one call: shared out over threads by the core, in chunks where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from memetik.goals.compiler import OpenTarget

CHUNK = 4096
"""Elements between two steps of the progress bar."""


def empty_batch(count: int, dof: int, terms: int) -> dict[str, np.ndarray]:
    """The arrays of a batch of which nothing is solved yet."""
    numbers = {"cost": float, "preference": float, "seconds": float, "evaluations": int, "starts": int, "success": bool}
    arrays = {name: np.zeros(count, dtype=kind) for name, kind in numbers.items()}
    return arrays | {"q": np.zeros((count, dof)), "errors": np.zeros((count, terms))}


def run_batch(
    core: Any,
    declared: Sequence[OpenTarget],
    targets: Sequence[np.ndarray],
    seeds: np.ndarray,
    settings: Any,
    bases: np.ndarray | None,
    count: int,
    stream: int = 0,
) -> dict[str, np.ndarray]:
    """Solves all elements, element k with stream + k; with a progress bar on a terminal where there are many."""

    def run(begin: int, end: int) -> dict[str, np.ndarray]:
        return core.solve_batch(
            tuple(t[begin:end] if t.ndim > len(d.shape) else t for t, d in zip(targets, declared, strict=True)),
            seeds[begin:end] if len(seeds) > 1 else seeds,
            settings,
            None if bases is None else bases[begin:end],
            end - begin,
            stream + begin,
        )

    if count <= 4 * CHUNK or not sys.stderr.isatty():
        return run(0, count)
    from rich.console import Console
    from rich.progress import track

    chunks = track(range(0, count, CHUNK), description="solving", console=Console(stderr=True), transient=True)
    parts = [run(begin, min(begin + CHUNK, count)) for begin in chunks]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
