"""Trackers: sequences of steps with limits, soft goals, filters, and changes while they run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cases import Case, named, robot

import memetik as mk

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STEPS = 60
KEPT = 10
"""Of the steps, every so many-th is recorded; the last one depends on all before it."""


def circle(center: np.ndarray, k: int, radius: float = 0.1) -> np.ndarray:
    """A point of a circle about the pose's place, once around in all steps, from the pose itself on."""
    angle = 2.0 * math.pi * k / STEPS
    return center + radius * np.array([0.0, math.cos(angle) - 1.0, math.sin(angle)])


def follow(goals: Callable[[Any], list[Any]], change: Callable[[Any, int], None] | None = None, **options: Any) -> dict:
    """The hand of the panda on a circle."""
    arm = robot("panda:panda_arm")
    pose = arm.pose(arm.tip, READY)
    tracker = mk.Tracker(mk.Problem(arm, goals(arm)), seed=READY, **options)
    kept, errors = [], []
    for k in range(STEPS):
        if change is not None:
            change(tracker, k)
        target = np.array(pose)
        target[:3, 3] = circle(pose[:3, 3], k)
        opened = tracker.problem.goals[0]
        step = tracker.step(target if isinstance(opened, mk.Pose) else target[:3, 3])
        errors.append(step.error)
        if (k + 1) % KEPT == 0:
            kept.append(np.array(step.q))
    return {
        "q": np.array(kept), "error": np.array(errors), "velocity": np.array(tracker.velocity),
        "saturated": list(step.saturated),
    }  # fmt: skip


def figure() -> dict[str, Any]:
    """Both hands of the mannequin."""
    body = robot("mannequin")
    tips = list(body.tips[:2])
    start = np.array(body.neutral)
    places = [body.pose(tip, start)[:3, 3] for tip in tips]
    tracker = mk.Tracker(mk.Problem(body, [mk.Position(tip) for tip in tips]), seed=start)
    kept = []
    for k in range(30):
        step = tracker.step(*(place + np.array([0.0, 0.0, 0.004 * k]) for place in places))
        if (k + 1) % KEPT == 0:
            kept.append(np.array(step.q))
    return {"q": np.array(kept), "error": float(step.error)}


def _changed(tracker: Any, k: int) -> None:
    """Goals come, change and go; a joint is held and freed."""
    if k == 10:
        tracker.add(mk.AlignAxis("panda_hand", "z", "-z", priority=1, name="down"))
        tracker.fix({"panda_joint7": 0.5})
    if k == 30:
        tracker.set_weight("down", 0.1)
        tracker.free("panda_joint7")
    if k == 45:
        tracker.disable("down")
        tracker.reference = READY + 0.1


def _pose(arm: Any) -> list[Any]:
    return [mk.Pose(arm.tip)]


def _position(arm: Any) -> list[Any]:
    return [mk.Position(arm.tip)]


def _soft(arm: Any) -> list[Any]:
    return [mk.Position(arm.tip), mk.AlignAxis(arm.tip, "z", "-z", priority=1), mk.AvoidLimits(priority=2),
            named("Displacement")(priority=2, weight=0.2)]  # fmt: skip


def cases() -> Iterator[Case]:
    runs: dict[str, Callable[[], dict[str, Any]]] = {
        "pose": lambda: follow(_pose),
        "pose-quick": lambda: follow(_pose, dt=0.05),
        "pose-limits": lambda: follow(_pose, velocity_scale=0.1, acceleration_scale=0.2),
        "pose-no-acceleration-limit": lambda: follow(_pose, acceleration_scale=math.inf),
        "position": lambda: follow(_position),
        "position-reference": lambda: follow(_position, reference=READY + 0.2, reference_weight=0.3),
        "position-blend": lambda: follow(_position, blend=0.3, rate=3.0),
        "filtered": lambda: follow(_position, smoothing=0.5, latency=0.02, outlier=0.05),
        "soft": lambda: follow(_soft),
        "changed": lambda: follow(_position, _changed),
        "impatient": lambda: follow(_pose, dt=0.05, patience=0.05, velocity_scale=0.05),
        "figure": figure,
    }
    for label, run in runs.items():
        yield Case(f"tracker/{label}", run, core=True)
