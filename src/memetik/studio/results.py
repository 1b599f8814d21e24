"""Benchmarks and reach studies to look at: what was asked, what came of it, and the same asked again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.studio.files import Folder

COLORS = {"solved": (34, 197, 94), "late": (250, 204, 21), "false": (217, 70, 239)}
MISSED = (239, 68, 68)


@dataclass(frozen=True, slots=True, eq=False)
class RunResults:
    """One run of a benchmark: its scenario, and of each target what became of it."""

    label: str
    scenario: Any
    statuses: tuple[str, ...]
    """Per target, of its first trial; "" where there is no result."""
    postures: dict[int, list[np.ndarray]]
    """By target, the postures found in all trials."""
    times: np.ndarray

    @property
    def colors(self) -> np.ndarray:
        """(N, 3) by status."""
        return np.array([COLORS.get(status, MISSED) for status in self.statuses], dtype=np.uint8).reshape(-1, 3)

    def sentence(self) -> str:
        solved = sum(status == "solved" for status in self.statuses)
        known = sum(bool(status) for status in self.statuses)
        took = f", {1e3 * float(np.nanmean(self.times)):.3g} ms each" if known else ""
        return f"{self.label}: {solved} of {known} targets solved{took}."


def run_labels(path: Path) -> list[tuple[str, str]]:
    """The runs of a store: (key, label)."""
    from memetik.bench.store import Store

    with Store(path, must_exist=True) as store:
        rows = store.runs()
    return [
        (
            str(row.run),
            f"{row.robot} · {row.scenario} · {row.label} · {1e3 * row.timeout:g} ms · {row.solved}/{row.results}",
        )
        for row in rows
    ]


def load_run(path: Path, key: str, folder: Folder) -> RunResults:
    """All of one run, its scenario made again, from what lies below the folder or comes with memetik."""
    from memetik.bench.scenarios import scenario_from
    from memetik.bench.store import Store

    with Store(path, must_exist=True) as store:
        row = next((row for row in store.runs() if row.run == key), None)
        if row is None:
            raise InvalidInputError(f"the store has no run {key!r}.")
        facts = store.scenario_facts(row.scenario_key)
        results = store.results(runs=[key])
        numbers, _, q = store.postures(key)
    _check_origin(facts["origin"], folder)
    scenario = scenario_from(facts["origin"])
    statuses = [""] * len(scenario.poses)
    times = np.full(len(scenario.poses), np.nan)
    for result in results:
        if not statuses[result.target]:
            statuses[result.target], times[result.target] = str(result.status), float(result.time)
    postures: dict[int, list[np.ndarray]] = {}
    for target, posture in zip(numbers.tolist(), q, strict=True):
        postures.setdefault(target, []).append(posture)
    return RunResults(str(row.label), scenario, tuple(statuses), postures, times)


def _check_origin(origin: Any, folder: Folder) -> None:
    from memetik.robot import bundled

    robot, scenario = str(origin.get("robot", "")), str(origin.get("scenario", ""))
    if not bundled.known(robot.partition(":")[0]):
        folder.path(robot)
    if Path(scenario).suffix:
        folder.path(scenario)


@dataclass(frozen=True, slots=True, eq=False)
class ReachPicture:
    """A reach study of an object: its surface with a colour for each vertex, and a sentence."""

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray
    result: Any
    sentence: str


def study_reach(robot: Any, scene: Any, name: str, link: str, count: int = 300) -> ReachPicture:
    """How much of an object's surface a link gets at, as a heat map."""
    from memetik.bench.reach import ReachSetup, reach_study
    from memetik.bench.reach_output import heat_part, sentence
    from memetik.scene.objects import TriangleMesh
    from memetik.scene.surroundings import sample_triangles
    from memetik.studio.drawing import surface_of

    item = scene[name]
    vertices, faces = surface_of(item.shape)
    world = vertices @ item.pose[:3, :3].T + item.pose[:3, 3]
    mesh = TriangleMesh(world, faces, name)
    points, normals = sample_triangles(mesh.triangles, count, 0)
    setup = ReachSetup(robot, scene, link)
    result = reach_study(setup, points, normals, passes=2)
    part = heat_part(mesh, result)
    colors = np.asarray(part.vertex_colors() if callable(part.vertex_colors) else part.vertex_colors)
    return ReachPicture(part.vertices, part.faces, colors, result, sentence(setup, result))
