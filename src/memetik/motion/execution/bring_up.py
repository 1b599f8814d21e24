"""A new arm, from its description to a file with which it plans: what `memetik setup` does.

Each stage says what it found; the next ones use it. Whatever fails is named, and the stages after it still run where
they can, so that one call shows everything there is to mend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from memetik._moved import serve_old_names
from memetik.collision.allowed_pairs import propose_allowed, srdf_pairs
from memetik.collision.fast import FastModel
from memetik.collision.mesh_checker import MeshChecker
from memetik.doctor import diagnose
from memetik.errors import DescriptionError, InvalidInputError, MemetikError
from memetik.files.atomic import write_whole
from memetik.files.toml_writer import to_toml
from memetik.goals.pose import Pose
from memetik.motion.planning.pipeline import plan
from memetik.robot import bundled
from memetik.robot.readers.config_file import SCHEMA, RobotConfig
from memetik.robot.robot import Robot, load_robot
from memetik.robot.source_words import split_arguments
from memetik.solve.problem import Problem

STAGES = ("doctor", "load", "limits", "self-collision", "spheres", "inverse kinematics", "planning")
DEFAULT_VELOCITY = {True: 1.0, False: 0.1}
"""Of joints whose description states none, by whether they turn: rad/s and m/s, cautious."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of bringing a robot up: whether it went well, one line of summary, and lines of detail."""

    name: str
    ok: bool
    summary: str
    details: tuple[str, ...] = ()
    figures: dict[str, float | str] = field(default_factory=dict[str, float | str])


@dataclass(frozen=True, slots=True)
class BringUpReport:
    """All stages, and the file that was written; None where there was nothing to write."""

    stages: tuple[Stage, ...]
    path: Path | None

    @property
    def ready(self) -> bool:
        """Whether every stage went well."""
        return all(stage.ok for stage in self.stages)


class BringUpOptions(TypedDict, total=False):
    """What is moved, and how much is tried.

    group, tip: what is to be moved, where the robot has several arms.
    samples: configurations in which self-collision is looked for. targets: poses to solve. motions: motions to plan.
    """

    group: str | None
    tip: str | None
    samples: int
    targets: int
    motions: int
    rng: int


def bring_up(
    source: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    *,
    srdf: str | PathLike[str] | None = None,
    search_path: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    watch: Callable[[str], None] | None = None,
    told: Callable[[Stage], None] | None = None,
    **options: Unpack[BringUpOptions],
) -> BringUpReport:
    """Check a robot, find out what planning needs to know, and write it to a TOML file that `load_robot` reads.

    output: the file to write; None for <robot>.setup.toml in the present folder.
    watch: called with the name of each stage as it begins. told: called with each stage as it ends.
    """
    folders = [search_path] if isinstance(search_path, str | PathLike) else list(search_path)
    work = _BringUp(fspath(source), srdf, folders, options)
    run = (work.examine, work.load, work.limits, work.pairs, work.spheres, work.solve, work.plan)
    for work.stage, step in zip(STAGES, run, strict=True):
        if watch is not None:
            watch(work.stage)
        work.stages.append(step())
        if told is not None:
            told(work.stages[-1])
        if work.stage == "load" and not work.stages[-1].ok:
            return BringUpReport(tuple(work.stages), None)
    path = Path(output) if output is not None else Path(f"{work.robot.name}.setup.toml")
    if path.suffix != ".toml":
        raise InvalidInputError(f"a robot config is written to a .toml file, not to {path.name!r}.")
    write_whole(path, work.text(path))
    return BringUpReport(tuple(work.stages), path)


class _BringUp:
    """A robot on the way: its stages, each a method, use what those before have found out."""

    robot: Robot
    """The whole robot with its tip; what moves is `group`."""

    def __init__(
        self,
        source: str,
        srdf: str | PathLike[str] | None,
        search_path: list[str | PathLike[str]],
        options: BringUpOptions,
    ):
        self.source, self.srdf, self.search_path, self.options = source, srdf, search_path, options
        self.group, self.tip, self.rng = options.get("group"), options.get("tip") or "", options.get("rng", 0)
        self.samples = options.get("samples", 10_000)
        self.stages: list[Stage] = []
        self.stage = STAGES[0]
        self.given_limits: dict[str, dict[str, float]] = {}
        self.unchecked: list[tuple[str, str, str]] = []

    def examine(self) -> Stage:
        findings = diagnose(self.source, srdf=self.srdf, search_path=self.search_path, samples=min(self.samples, 2000))
        counts = {level: sum(f.severity == level for f in findings) for level in ("error", "warning", "info")}
        told = [f for f in findings if f.severity != "info"]
        summary = ", ".join(f"{n} {level}{'s' if n != 1 else ''}" for level, n in counts.items() if n) or "no findings"
        details = [f"{f.severity} {f.code}: {f.message} -> {f.remedy}" for f in told]
        return self._found(not counts["error"], summary, details, **counts)

    def load(self) -> Stage:
        try:
            robot = load_robot(self.source, srdf=self.srdf, search_path=self.search_path)
            self.group = self.group or _only_arm(robot)
            if self.group is not None:
                robot.group_joints(self.group)
            self.tip = self.tip or (robot if self.group is None else robot.group(self.group)).tip
            self.robot = Robot(RobotConfig("", tip=self.tip, group=self.group).applied(robot.description))
        except MemetikError as error:
            return self._found(False, str(error))
        what = f"{self.part.dof} joints" + (f" of group {self.group!r}" if self.group else "")
        return self._found(True, f"{robot.name}: {what}, tip {self.tip!r}", dof=self.part.dof, tip=self.tip)

    def limits(self) -> Stage:
        details, part = [], self.part
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
            self.robot = self.robot.with_limits(self.given_limits)
        # What the reader filled in, such as accelerations, is a limit that nobody stated, too.
        notes = [note for note in self.robot.notes if note.kind == "filled in" and "limit" in note.message]
        details += [f"{note.message} {note.consequence}" for note in notes]
        filled = len(self.given_limits)
        told = [f"limits of {filled} of {part.dof} joints filled in"] if filled else []
        told += [f"{len(notes)} notes about limits from the reader"] if notes else []
        summary = ", ".join(told) or f"all limits of {part.dof} joints given"
        return self._found(True, summary, details, filled_in=filled)

    def pairs(self) -> Stage:
        known = srdf_pairs(self.robot)
        if not any(link.collisions for link in self.robot.description.links):
            return self._found(False, "no link has a collision shape: nothing can be checked")
        proposal = propose_allowed(self.robot, samples=self.samples, rng=self.rng)
        self.unchecked = [(*pair, reason) for pair, reason in proposal.reasons().items() if pair not in known]
        self.robot = replace_pairs(self.robot, self.unchecked)
        share = float(np.mean(MeshChecker(self.part).collides(self.part.random(self.rng, 500))))
        often = sorted(proposal.sometimes.items(), key=lambda entry: -entry[1])[:5]
        details = [f"{a} and {b} meet in {share:.1%} of configurations" for (a, b), share in often]
        details += [f"{a} and {b} always overlap and are not checked" for a, b in sorted(proposal.always)]
        checked = len(proposal.sometimes)
        skipped = len(self.unchecked) + len(known)
        summary = f"{skipped} pairs need no check, {checked} do; {share:.0%} of configurations collide"
        figures = {"unchecked": len(self.unchecked), "checked": checked, "colliding": share, "samples": self.samples}
        return self._found(share < 0.9, summary, details, **figures)

    def spheres(self) -> Stage:
        try:
            model = FastModel(self.part)
        except MemetikError as error:
            return self._found(False, str(error))
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
        return self._found(coverage > 0.999, summary, details, **figures)

    def solve(self) -> Stage:
        part = self.part
        configurations = _free_configurations(part, self.options.get("targets", 200), self.rng)
        if not len(configurations):
            return self._found(False, "no configuration free of collision was found")
        problem = Problem(part, [Pose(self.tip)], self_collision=True)
        poses = part.pose(self.tip, configurations)
        found = [problem.solve(pose, timeout=0.1, rng=self.rng) for pose in poses]
        share = float(np.mean([solution.success for solution in found]))
        seconds = float(np.median([solution.time for solution in found]))
        spread = np.ptp(poses[:, :3, 3], axis=0)
        summary = f"{share:.1%} of {len(configurations)} reachable poses solved, median {1e6 * seconds:.0f} us"
        detail = "the poses span " + " x ".join(f"{v:.2f}" for v in spread) + " m"
        return self._found(share >= 0.99, summary, (detail,), solved=share, median_seconds=seconds)

    def plan(self) -> Stage:
        part = self.part
        configurations = _free_configurations(part, self.options.get("motions", 20) + 1, self.rng + 1)
        solved, seconds, details = 0, [], []
        for start, goal in pairwise(configurations):
            begin = time.perf_counter()
            found = plan(part, [Pose(self.tip, part.pose(self.tip, goal))], start=start)
            seconds.append(time.perf_counter() - begin)
            solved += bool(found.success)
            if not found.success:
                details.append(f"{found.stage}: {found.reason}")
        if not seconds:
            return self._found(False, "no two configurations free of collision were found")
        median = float(np.median(seconds))
        summary = f"{solved} of {len(seconds)} motions planned, median {1e3 * median:.0f} ms"
        return self._found(solved == len(seconds), summary, details, planned=solved, median_seconds=median)

    def text(self, path: Path) -> str:
        """The file; paths in it are relative to its folder."""
        folder, source = path.resolve().parent, self.source
        source, arguments = split_arguments(source)
        source = source if source in bundled.names() else _portable(source, folder)
        robot: dict[str, str | list[str] | dict[str, str]] = {"source": source}
        if arguments:
            robot["arguments"] = arguments
        if self.srdf is not None:
            robot["srdf"] = _portable(self.srdf, folder)
        if self.search_path:
            robot["search_path"] = [_portable(entry, folder) for entry in self.search_path]
        robot["tip"] = self.tip
        if self.group is not None:
            robot["group"] = self.group
        checks = {
            f"{stage.name} {name}".replace(" ", "_").replace("-", "_"): value
            for stage in self.stages
            for name, value in stage.figures.items()
        }
        text = "# A robot set up for memetik: load_robot takes this file. Metres, radians, seconds.\n"
        text += to_toml({"schema": SCHEMA, "robot": robot})
        for name, values in self.given_limits.items():
            text += "\n[limits." + to_toml({name: values}).strip()[1:] + "\n"
        # One pair a line, as people will edit them.
        rows = "".join(
            "    " + to_toml({"x": pair}).removeprefix("x = ").rstrip("\n") + ",\n" for pair in self.unchecked
        )
        text += "\n[collision]\nunchecked = [\n" + rows + "]\n"
        return text + "\n" + to_toml({"checks": checks}).lstrip("\n")

    @property
    def part(self) -> Robot:
        """What moves."""
        return self.robot if self.group is None else self.robot.group(self.group)

    def _found(self, ok: bool, summary: str, details: Sequence[str] = (), **figures: float | str) -> Stage:
        return Stage(self.stage, ok, summary, tuple(details), figures)


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


def _free_configurations(robot: Robot, count: int, rng: int) -> np.ndarray:
    """Up to `count` random configurations free of self-collision."""
    drawn = robot.random(rng, 20 * count)
    model = MeshChecker(robot)
    free = drawn[: 3 * count][~model.collides(drawn[: 3 * count])]
    if len(free) < count:
        free = drawn[~model.collides(drawn)]
    return free[:count]


def _portable(path: str | PathLike[str], folder: Path) -> str:
    """A path from the folder of the file where it lies near it, so that both can be moved; else an absolute one."""
    relative = os.path.relpath(path, folder)
    return os.path.abspath(path) if relative.startswith(os.path.join("..", "..")) else relative


serve_old_names(__name__)
