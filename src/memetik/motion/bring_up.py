"""A new arm, from its description to a file with which it plans: what `memetik setup` does.

Each stage says what it found; the next ones use it. Whatever fails is named, and the stages after it still run where
they can, so that one call shows everything there is to mend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import DescriptionError, InvalidInputError, MemetikError
from memetik.files import write_whole
from memetik.robot.setup_file import SCHEMA, RobotSetup
from memetik.robot.toml_text import to_toml

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.scene.allowed import AllowedProposal

STAGES = ("doctor", "load", "limits", "self-collision", "spheres", "inverse kinematics", "planning")
DEFAULT_VELOCITY = {True: 1.0, False: 0.1}
"""Of joints whose description states none, by whether they turn: rad/s and m/s, cautious."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a set-up: whether it went well, one line of summary, and lines of detail."""

    name: str
    ok: bool
    summary: str
    details: tuple[str, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetupReport:
    """All stages, and the file that was written; None where there was nothing to write."""

    stages: tuple[Stage, ...]
    path: Path | None

    @property
    def ready(self) -> bool:
        """Whether every stage went well."""
        return all(stage.ok for stage in self.stages)


def set_up(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    srdf: str | os.PathLike[str] | None = None,
    search_path: Any = (),
    group: str | None = None,
    tip: str | None = None,
    samples: int = 10_000,
    targets: int = 200,
    motions: int = 20,
    rng: int = 0,
    watch: Callable[[str], None] | None = None,
) -> SetupReport:
    """Check a robot, find out what planning needs to know, and write it to a TOML file that `load_robot` reads.

    output: the file to write; None for <robot>.setup.toml in the present folder.
    group, tip: what is to be moved, where the robot has several arms.
    samples: postures in which self-collision is looked for. targets: poses to solve. motions: motions to plan.
    watch: called with the name of each stage as it begins.
    """
    work = _SetUp(os.fspath(source), srdf, search_path, group, tip, rng, watch or (lambda _: None))
    work.examine(samples)
    robot = work.load()
    if robot is None:
        return SetupReport(tuple(work.stages), None)
    robot = work.limits(robot)
    robot = work.pairs(robot, samples)
    work.spheres(robot)
    work.solve(robot, targets)
    work.plan(robot, motions)
    path = Path(output) if output is not None else Path(f"{robot.name}.setup.toml")
    if path.suffix != ".toml":
        raise InvalidInputError(f"a set-up is written to a .toml file, not to {path.name!r}.")
    write_whole(path, work.text(path))
    return SetupReport(tuple(work.stages), path)


class _SetUp:
    def __init__(self, source: str, srdf: Any, search_path: Any, group: str | None, tip: str | None, rng: int, watch):
        self.source, self.srdf, self.group, self.tip, self.rng = source, srdf, group, tip, rng
        self.search_path = [search_path] if isinstance(search_path, str | os.PathLike) else list(search_path)
        self.watch = watch
        self.stages: list[Stage] = []
        self.given_limits: dict[str, dict[str, float]] = {}
        self.unchecked: list[tuple[str, str, str]] = []

    def examine(self, samples: int) -> None:
        from memetik.robot.doctor import diagnose

        self.watch("doctor")
        findings = diagnose(self.source, srdf=self.srdf, search_path=self.search_path, samples=min(samples, 2000))
        counts = {level: sum(f.severity == level for f in findings) for level in ("error", "warning", "info")}
        told = [f for f in findings if f.severity != "info"]
        summary = ", ".join(f"{n} {level}{'s' if n != 1 else ''}" for level, n in counts.items() if n) or "no findings"
        details = tuple(f"{f.severity} {f.code}: {f.message} -> {f.remedy}" for f in told)
        self._add("doctor", not counts["error"], summary, details, **counts)

    def load(self) -> Robot | None:
        """The whole robot with its tip; what moves is `group`."""
        from memetik.robot.robot import Robot, load_robot

        self.watch("load")
        try:
            robot = load_robot(self.source, srdf=self.srdf, search_path=self.search_path)
            self.group = self.group or _only_arm(robot)
            if self.group is not None:
                robot.group_joints(self.group)
            self.tip = self.tip or (robot if self.group is None else robot.group(self.group)).tip
            robot = Robot(RobotSetup("", tip=self.tip, group=self.group).applied(robot.description))
        except MemetikError as error:
            self._add("load", False, str(error))
            return None
        moved = self._part(robot)
        what = f"{moved.dof} joints" + (f" of group {self.group!r}" if self.group else "")
        self._add("load", True, f"{robot.name}: {what}, tip {self.tip!r}", dof=moved.dof, tip=self.tip)
        return robot

    def limits(self, robot: Robot) -> Robot:
        self.watch("limits")
        details, part = [], self._part(robot)
        for index, name in enumerate(part.joint_names):
            turns = bool(part.turning[index])
            unit = "rad" if turns else "m"
            if not np.isfinite(part.velocity[index]) or part.velocity[index] <= 0.0:
                chosen = DEFAULT_VELOCITY[turns]
                self.given_limits[name] = {"velocity": chosen, "acceleration": 2.0 * chosen}
                details.append(f"{name}: no velocity limit, taken is {chosen:g} {unit}/s; give your own in the file")
            elif not np.isfinite(part.acceleration[index]):
                self.given_limits[name] = {"acceleration": 2.0 * float(part.velocity[index])}
                details.append(f"{name}: no acceleration limit, taken is the one that reaches full speed in 0.5 s")
            span = part.upper[index] - part.lower[index]
            if np.isfinite(span) and span < 1e-3:
                details.append(f"{name}: the range is only {span:g} {unit}")
            elif turns and np.isfinite(span) and span > 2.0 * np.pi + 1e-6:
                details.append(f"{name}: the range is {np.degrees(span):.0f} degrees, more than a turn")
        if self.given_limits:
            robot = robot.with_limits(self.given_limits)
        filled = len(self.given_limits)
        summary = f"{part.dof} joints, all limits given" if not filled else f"{filled} of {part.dof} joints filled in"
        self._add("limits", True, summary, tuple(details), filled_in=filled)
        return robot

    def pairs(self, robot: Robot, samples: int) -> Robot:
        from memetik.scene.allowed import propose_allowed, srdf_pairs
        from memetik.scene.exact import CollisionModel

        self.watch("self-collision")
        known = srdf_pairs(robot)
        if not any(link.collisions for link in robot.description.links):
            self._add("self-collision", False, "no link has a collision shape: nothing can be checked")
            return robot
        proposal = propose_allowed(robot, samples=samples, rng=self.rng)
        self.unchecked = [(*pair, reason) for pair, reason in proposal.reasons().items() if pair not in known]
        robot = replace_pairs(robot, self.unchecked)
        part = self._part(robot)
        postures = part.random(self.rng, 500)
        share = float(np.mean(CollisionModel(part).collides(postures)))
        details = [f"{a} and {b} meet in {share:.1%} of postures" for (a, b), share in _most(proposal)]
        overlapping = sorted(proposal.always)
        details += [f"{a} and {b} always overlap and are not checked" for a, b in overlapping]
        checked = len(proposal.sometimes)
        summary = (
            f"{len(self.unchecked) + len(known)} pairs need no check, {checked} do; {share:.0%} of postures collide"
        )
        figures = {"unchecked": len(self.unchecked), "checked": checked, "colliding": share, "samples": samples}
        self._add("self-collision", share < 0.9, summary, tuple(details), **figures)
        return robot

    def spheres(self, robot: Robot) -> None:
        from memetik.scene.fast import FastModel

        self.watch("spheres")
        try:
            model = FastModel(self._part(robot))
        except MemetikError as error:
            self._add("spheres", False, str(error))
            return
        report = model.report
        bodies = sum(link.bodies for link in report)
        protrusion = max((link.protrusion for link in report), default=0.0)
        coverage = min((link.coverage for link in report), default=1.0)
        details = tuple(
            f"{link.name}: {link.bodies} bodies, {link.coverage:.2%} covered, {1e3 * link.protrusion:.1f} mm beyond"
            for link in report
        )
        summary = f"{bodies} bodies stand for {len(report)} links, at most {1e3 * protrusion:.1f} mm beyond them"
        figures = {"bodies": bodies, "coverage": coverage, "protrusion": protrusion}
        self._add("spheres", coverage > 0.999, summary, details, **figures)

    def solve(self, robot: Robot, targets: int) -> None:
        from memetik.goals.pose import Pose
        from memetik.solve.problem import Problem

        self.watch("inverse kinematics")
        part = self._part(robot)
        postures = _free_postures(part, targets, self.rng)
        if not len(postures):
            self._add("inverse kinematics", False, "no posture free of collision was found")
            return
        problem = Problem(part, [Pose(self._tip)], self_collision=True)
        poses = part.pose(self._tip, postures)
        found = [problem.solve(pose, timeout=0.1, rng=self.rng) for pose in poses]
        share = float(np.mean([solution.success for solution in found]))
        seconds = float(np.median([solution.time for solution in found]))
        spread = np.ptp(poses[:, :3, 3], axis=0)
        summary = f"{share:.1%} of {len(postures)} reachable poses solved, median {1e6 * seconds:.0f} us"
        detail = "the poses span " + " x ".join(f"{v:.2f}" for v in spread) + " m"
        self._add("inverse kinematics", share >= 0.99, summary, (detail,), solved=share, median_seconds=seconds)

    def plan(self, robot: Robot, motions: int) -> None:
        from memetik.goals.pose import Pose
        from memetik.motion.pipeline import plan

        self.watch("planning")
        part = self._part(robot)
        postures = _free_postures(part, motions + 1, self.rng + 1)
        solved, seconds, details = 0, [], []
        for start, goal in pairwise(postures):
            begin = time.perf_counter()
            found = plan(part, [Pose(self._tip, part.pose(self._tip, goal))], start=start)
            seconds.append(time.perf_counter() - begin)
            solved += bool(found.success)
            if not found.success:
                details.append(f"{found.stage}: {found.reason}")
        if not seconds:
            self._add("planning", False, "no two postures free of collision were found")
            return
        median = float(np.median(seconds))
        summary = f"{solved} of {len(seconds)} motions planned, median {1e3 * median:.0f} ms"
        self._add("planning", solved == len(seconds), summary, tuple(details), planned=solved, median_seconds=median)

    def text(self, path: Path) -> str:
        """The file; paths in it are relative to its folder."""
        folder = path.resolve().parent
        robot: dict[str, Any] = {"source": _from_folder(self.source, folder)}
        if self.srdf is not None:
            robot["srdf"] = _portable(self.srdf, folder)
        if self.search_path:
            robot["search_path"] = [_portable(entry, folder) for entry in self.search_path]
        robot["tip"] = self._tip
        if self.group is not None:
            robot["group"] = self.group
        checks = {
            f"{stage.name} {name}".replace(" ", "_").replace("-", "_"): value
            for stage in self.stages
            for name, value in stage.figures.items()
        }
        document: dict[str, Any] = {"schema": SCHEMA, "robot": robot}
        document |= {f"limits.{name}": values for name, values in self.given_limits.items()}
        document |= {"collision": {"unchecked": [list(pair) for pair in self.unchecked]}, "checks": checks}
        return _laid_out(document)

    @property
    def _tip(self) -> str:
        assert self.tip is not None
        return self.tip

    def _part(self, robot: Robot) -> Robot:
        return robot if self.group is None else robot.group(self.group)

    def _add(self, name: str, ok: bool, summary: str, details: Any = (), **figures: Any) -> None:
        self.stages.append(Stage(name, ok, summary, tuple(details), figures))


def replace_pairs(robot: Robot, pairs: list[tuple[str, str, str]]) -> Robot:
    """The robot with these pairs not checked, each for its reason."""
    for reason in dict.fromkeys(pair[2] for pair in pairs):
        robot = robot.with_disabled_pairs([pair[:2] for pair in pairs if pair[2] == reason], reason)
    return robot


def _only_arm(robot: Robot) -> str | None:
    """The group to move where the robot has groups: the one with the end effector; else the one with most joints."""
    semantics = robot.description.semantics
    named = dict.fromkeys(e.parent_group for e in semantics.end_effectors if e.parent_group)
    if len(named) == 1:
        return next(iter(named))
    if len(named) > 1:
        raise DescriptionError(f"robot {robot.name!r} has several arms: choose group= from {', '.join(named)}.")
    return None


def _free_postures(robot: Robot, count: int, rng: int) -> np.ndarray:
    """Up to `count` random postures free of self-collision."""
    from memetik.scene.exact import CollisionModel

    drawn = robot.random(rng, 20 * count)
    model = CollisionModel(robot)
    free = drawn[: 3 * count][~model.collides(drawn[: 3 * count])]
    if len(free) < count:
        free = drawn[~model.collides(drawn)]
    return free[:count]


def _most(proposal: AllowedProposal, count: int = 5) -> list[tuple[tuple[str, str], float]]:
    return sorted(proposal.sometimes.items(), key=lambda entry: -entry[1])[:count]


def _from_folder(source: str, folder: Path) -> str:
    from memetik.robot import bundled

    return source if source in bundled.names() else _portable(source, folder)


def _portable(path: str | os.PathLike[str], folder: Path) -> str:
    """A path from the folder of the file where it lies near it, so that both can be moved; else an absolute one."""
    relative = os.path.relpath(path, folder)
    far = relative.startswith(os.path.join("..", ".."))
    return os.path.abspath(path) if far else relative


def _laid_out(document: dict[str, Any]) -> str:
    """TOML with one pair a line, as people will edit it."""
    limits = {key: value for key, value in document.items() if key.startswith("limits.")}
    pairs = document["collision"]["unchecked"]
    plain = {key: value for key, value in document.items() if key in ("schema", "robot")}
    text = "# A robot set up for memetik: load_robot takes this file. Metres, radians, seconds.\n" + to_toml(plain)
    for key, value in limits.items():
        head = to_toml({key.removeprefix("limits."): value}).strip()
        text += "\n[limits." + head[1:] + "\n"
    rows = "".join("    " + to_toml({"x": pair}).removeprefix("x = ").rstrip("\n") + ",\n" for pair in pairs)
    text += "\n[collision]\nunchecked = [\n" + rows + "]\n"
    return text + "\n" + to_toml({"checks": document["checks"]}).lstrip("\n")
