"""Benchmarks and reach studies to look at: their targets, what became of each, and the same solved again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from memetik.bench.reach.file import load_study, study_facts
from memetik.bench.reach.output import SURFACE, heat_part, sentence
from memetik.bench.reach.study import STATES, ReachResult, ReachSetup, reach_study
from memetik.bench.report.viewer import Part
from memetik.bench.run.store import Store
from memetik.bench.scenarios import scenario_from
from memetik.errors import InvalidInputError
from memetik.geometry.shapes import TriangleMesh
from memetik.geometry.surface_points import sample_triangles
from memetik.goals.base import Goal
from memetik.robot import bundled
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene
from memetik.studio.session.files import Folder
from memetik.studio.views.drawing import surface_of

GREEN = (34, 197, 94)
COLORS = {
    "solved": GREEN, "reached": GREEN, "late": (250, 204, 21), "false": (217, 70, 239), "out of reach": (100, 116, 139)
}  # fmt: skip
MISSED = (239, 68, 68)

MAX_STUDY_BYTES = 100_000_000
"""Files of reach studies may be as large as this."""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Many targets for a robot in a scene, and what became of each: a run of a benchmark, or a reach study."""

    sentence: str
    source: str
    """What `load_robot` takes; "" where nothing is known."""
    robot: Robot
    scene: Scene | None
    self_collision: bool
    goals: tuple[Goal, ...]
    """Goals whose targets are open."""
    targets: tuple[np.ndarray, ...]
    """For each goal its targets, (N, ...)."""
    points: np.ndarray
    """(N, 3): where the targets are shown."""
    statuses: tuple[str, ...]
    colors: np.ndarray
    """(N, 3), from 0 to 255."""
    configurations: dict[int, list[np.ndarray]]
    """By target, the configurations that were found."""
    heat: Part | None = None
    """A surface in the world coloured by score, drawn in the place of the object of its name."""

    def __len__(self) -> int:
        return len(self.points)

    def of(self, number: int) -> tuple[np.ndarray, ...]:
        """The targets of all goals, of that number."""
        return tuple(target[number] for target in self.targets)


def run_labels(path: Path) -> list[tuple[str, str]]:
    """The runs of a store: (key, label)."""
    with Store(path, must_exist=True) as store:
        rows = store.runs()
    return [
        (str(r.run), f"{r.robot} · {r.scenario} · {r.label} · {1e3 * r.timeout:g} ms · {r.solved}/{r.results}")
        for r in rows
    ]


def load_run(path: Path, key: str, folder: Folder) -> Results:
    """All of one run, its scenario made again, from what lies below the folder or comes with memetik."""
    with Store(path, must_exist=True) as store:
        row = next((row for row in store.runs() if row.run == key), None)
        if row is None:
            raise InvalidInputError(f"the store has no run {key!r}.")
        facts = store.scenario_facts(row.scenario_key)
        results = store.results(runs=[key])
        numbers, _, q = store.configurations(key)
    _check_origin(facts["origin"], folder)
    scenario = scenario_from(facts["origin"])
    statuses = [""] * len(scenario)
    times = np.full(len(scenario), np.nan)
    for result in results:
        if not statuses[result.target]:
            statuses[result.target], times[result.target] = str(result.status), float(result.time)
    configurations: dict[int, list[np.ndarray]] = {}
    for target, configuration in zip(numbers.tolist(), q, strict=True):
        configurations.setdefault(target, []).append(configuration)
    solved, known = statuses.count("solved"), len(statuses) - statuses.count("")
    took = f", {1e3 * float(np.nanmean(times)):.3g} ms each" if known else ""
    return Results(
        f"{row.label}: {solved} of {known} targets solved{took}.",
        "",
        scenario.robot,
        scenario.scene,
        scenario.self_collision,
        scenario.goals,
        scenario.targets,
        scenario.poses[:, :3, 3],
        tuple(status or "not asked" for status in statuses),
        _colors(statuses),
        configurations,
    )


def load_reach(path: Path, folder: Folder) -> Results:
    """A study that `memetik reach -o FILE.npz` wrote, with a robot from below the folder or that comes with memetik."""
    if path.is_file() and path.stat().st_size > MAX_STUDY_BYTES:
        raise InvalidInputError(f"{path.name!r} has more than the {MAX_STUDY_BYTES / 1e6:.0f} MB that are accepted.")
    _check_robot(str(study_facts(path).get("robot", "")), folder)
    study = load_study(path)
    # A robot at a base of its own is not what its name alone would load.
    source = study.source if load_robot(study.source) == study.setup.robot else ""
    return _reach_results(source, study.setup, study.surface, study.result, SURFACE)


def study_reach(robot: Robot, scene: Scene, name: str, link: str, count: int = 300) -> Results:
    """How much of an object's surface a link can reach."""
    item = scene[name]
    vertices, faces = surface_of(item.shape)
    mesh = TriangleMesh(vertices @ item.pose[:3, :3].T + item.pose[:3, 3], faces, name)
    points, normals = sample_triangles(mesh.triangles, count, 0)
    setup = ReachSetup(robot, scene, link)
    return _reach_results("", setup, mesh, reach_study(setup, points, normals, passes=2), name)


def _reach_results(source: str, setup: ReachSetup, surface: TriangleMesh, result: ReachResult, name: str) -> Results:
    """A study as results: the surface coloured by score, a configuration for each target that is reached."""
    statuses = [STATES[state] for state in result.state.tolist()]
    return Results(
        sentence(setup, result),
        source,
        setup.robot,
        setup.scene,
        setup.scene is not None,
        tuple(setup.goals),
        setup.targets(result.points, result.normals),
        result.points,
        tuple(
            f"{status}, score {score:.2f}" if status == "reached" else status
            for status, score in zip(statuses, result.score.tolist(), strict=True)
        ),
        _colors(statuses),
        {int(k): [result.q[k]] for k in np.flatnonzero(result.reached)},
        replace(heat_part(surface, result), name=name),
    )


def _colors(statuses: list[str]) -> np.ndarray:
    return np.array([COLORS.get(status, MISSED) for status in statuses], dtype=np.uint8).reshape(-1, 3)


def _check_origin(origin: Mapping[str, str], folder: Folder) -> None:
    _check_robot(str(origin.get("robot", "")), folder)
    scenario = str(origin.get("scenario", ""))
    if Path(scenario).suffix:
        folder.path(scenario)


def _check_robot(robot: str, folder: Folder) -> None:
    if not bundled.known(robot.partition(":")[0]):
        folder.path(robot)
