"""Many elements in a scene: in waves, each of which starts from the answers of the waves before it.

Reaching into a narrow place is hard; reaching a place next to it, from there, is not. The elements are put in a fixed
random order; the first few are solved on their own, then twice as many in each wave, every element starting from the
answers whose targets are nearest to its own. What an element starts from depends on earlier waves alone, so that the
number of threads changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from memetik import _core
from memetik.goals.compiler import OpenTarget
from memetik.solve.guide import Guides

FIRST_WAVE = 8
"""Elements that are solved on their own."""

HINTS = 7
"""Answers of neighbours that an element starts from: with the seed, as many as advance side by side."""

TURN = 0.1
"""Metres that a turn of about a radian counts, when targets are compared."""

CHUNK = 128
"""Elements between two steps of the progress bar."""

Run = Callable[[np.ndarray, np.ndarray | None], dict[str, np.ndarray]]
"""Solves the elements of these numbers (M,), starting from postures (M, hints, dof)."""


def run_confined_batch(
    core: Any,
    declared: Sequence[OpenTarget],
    targets: Sequence[np.ndarray],
    seeds: np.ndarray,
    settings: Any,
    count: int,
    stream: int,
    surroundings: tuple[Any, Any, float, Any],
    guides: Guides | None,
    with_neighbours: bool,
) -> dict[str, np.ndarray]:
    """Solves all elements, element k with stream + k; with a progress bar on a terminal where there are many.

    surroundings: what `Confinement.arguments` gives. guides: None where openings are not to be looked for.
    """
    batched = [t.ndim > len(d.shape) for t, d in zip(targets, declared, strict=True)]

    def run(numbers: np.ndarray, hints: np.ndarray | None) -> dict[str, np.ndarray]:
        own = tuple(np.ascontiguousarray(t[numbers]) if b else t for t, b in zip(targets, batched, strict=True))
        leads, points = [], np.zeros((len(numbers), 3))
        if hints is None and guides is not None:
            for k in range(len(numbers)):
                lead, points[k] = guides.find([t[k] if b else t for t, b in zip(own, batched, strict=True)]) or (
                    None,
                    0,
                )
                leads.append(lead)
        streams = np.ascontiguousarray(stream + numbers, dtype=np.int64)
        own_seeds = np.ascontiguousarray(seeds[numbers]) if len(seeds) > 1 else seeds
        return _core.solve_confined_batch(
            core, own, own_seeds, settings, len(numbers), streams, hints, *surroundings, leads, points
        )

    return _run_waves(run, _features(targets, declared, count) if with_neighbours and count else None, count)


def _run_waves(run: Run, features: np.ndarray | None, count: int) -> dict[str, np.ndarray]:
    """The arrays of all elements; `features` (N, d) say which are near to each other, None: each is on its own."""
    arrays: dict[str, np.ndarray] = {}
    with _progress(count) as advance:
        for numbers, hints in _starts(arrays, features, count):
            part = run(numbers, hints)
            for name, values in part.items():
                if name not in arrays:
                    arrays[name] = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
                arrays[name][numbers] = values
            advance(len(numbers))
    return arrays or run(np.zeros(0, dtype=int), None)


def _features(targets: Sequence[np.ndarray], declared: Sequence[OpenTarget], count: int) -> np.ndarray | None:
    """Numbers (N, d) whose distances tell how near targets are to each other, in about metres."""
    columns = []
    for target, open_target in zip(targets, declared, strict=True):
        if target.ndim == len(open_target.shape):
            continue  # the same for all
        flat = target.reshape(count, -1).astype(float)
        if open_target.form == "pose":
            flat = np.concatenate([target[:, :3, 3], TURN * target[:, :3, :3].reshape(count, 9)], axis=1)
        elif open_target.form in ("rotation", "direction"):
            flat = TURN * flat
        columns.append(flat)
    return np.concatenate(columns, axis=1) if columns else None


def _starts(
    arrays: dict[str, np.ndarray], features: np.ndarray | None, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Numbers of elements to solve next and what they start from; reads what was solved from `arrays`."""
    from scipy.spatial import KDTree

    order = np.arange(count) if features is None else np.random.default_rng(0).permutation(count)
    begin, tree, solved = 0, None, np.zeros(0, dtype=int)
    while begin < count:
        end = count if features is None else min(count, max(FIRST_WAVE, 2 * begin))
        if features is not None and begin:
            solved = order[:begin][arrays["success"][order[:begin]].astype(bool)]
            tree = KDTree(features[solved]) if len(solved) else None
        for first in range(begin, end, CHUNK):
            numbers = order[first : min(first + CHUNK, end)]
            hints = None
            if tree is not None and features is not None:
                nearest = tree.query(features[numbers], k=min(HINTS, len(solved)))[1]
                hints = np.ascontiguousarray(arrays["q"][solved[nearest.reshape(len(numbers), -1)]])
            yield numbers, hints
        begin = end


class _progress:
    """A progress bar on a terminal where there is much to do."""

    def __init__(self, count: int):
        self._count, self._bar = count, None

    def __enter__(self) -> Callable[[int], None]:
        if self._count < 4 * CHUNK or not sys.stderr.isatty():
            return lambda _: None
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        task = bar.add_task("solving", total=self._count)
        bar.start()
        self._bar = bar
        return lambda done: bar.update(task, advance=done)

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
