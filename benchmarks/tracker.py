"""Trackers on streams of targets: error, limits, speed, targets out of reach, closed paths.

Run: python benchmarks/tracker.py [--seconds 60] [--streams 3]

Targets are the poses of links in motions of all joints: from rest in a usual configuration, sums of three sines of a
given span. Each joint is as fast as a peak of 80 % of its velocity limit and, where accelerations are limited, of its
acceleration limit allows. The tracker sees the targets alone, one after the other. The bars: position error at most
1e-4 m, velocities and accelerations within their limits, the mannequin with four pose goals at 2500 steps per second or
more. Beyond the bars, wider motions show where following ends: joints of the tracker have other configurations than
those that made the targets, and there the limits no longer suffice.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass

import numpy as np

import memetik as mk
from memetik._core import architecture
from memetik.goals import Pose
from memetik.solve.problem import Problem
from memetik.solve.tracker import Tracker

SHARE = 0.8
ERROR_BAR = 1e-4
RATE_BAR = 2500.0


@dataclass(frozen=True)
class Case:
    """A robot with pose goals, the configuration where its motions begin, and how they are followed."""

    name: str
    robot: mk.Robot
    tips: tuple[str, ...]
    home: np.ndarray
    span: float
    dt: float
    accelerations: bool
    bar: bool

    @property
    def tracker(self) -> Tracker:
        problem = Problem(self.robot, [Pose(tip) for tip in self.tips])
        scale = 1.0 if self.accelerations else math.inf
        return Tracker(problem, seed=self.home, dt=self.dt, acceleration_scale=scale)


@dataclass
class Outcome:
    """What a stream of targets came to."""

    error: float
    share_missed: float
    velocity: float
    acceleration: float
    rate: float
    slowest: float
    peak: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--streams", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{arguments.streams} streams of {arguments.seconds:g} s each, kernels for {architecture()}")
    print(
        f"{'':44} {'motion':>7} {'error':>9} {'above':>8} {'velocity':>9} {'accel.':>7} {'steps':>8} {'1 % over':>8}\n"
        f"{'':44} {'peak v':>7} {'m':>9} {'1e-4 m':>8} {'/ limit':>9} {'/ limit':>7} {'per s':>8} {'us':>8}"
    )
    holds = True
    for case in cases():
        outcomes = [follow(case, arguments.seconds, seed) for seed in range(arguments.streams)]
        worst = {
            name: max(getattr(o, name) for o in outcomes)
            for name in ("error", "share_missed", "velocity", "acceleration", "slowest")
        }
        peak = min(o.peak for o in outcomes)
        rate = min(o.rate for o in outcomes)
        print(
            f"{case.name:44} {peak:6.0%} {worst['error']:10.1e} {worst['share_missed']:8.2%} "
            f"{worst['velocity']:9.6f} {worst['acceleration']:7.4f} {rate:8.0f} {worst['slowest']:8.0f}"
        )
        if case.bar:
            within = worst["velocity"] <= 1.0 and (worst["acceleration"] <= 1.0 + 1e-6 or not case.accelerations)
            quick = rate >= RATE_BAR or case.robot.name != "mannequin"
            holds = holds and worst["error"] <= ERROR_BAR and within and quick
    holds = out_of_reach() and holds
    closed_path()
    print(
        f"bars (error {ERROR_BAR:g} m, limits, {RATE_BAR:.0f} steps per second): {'hold' if holds else 'DO NOT HOLD'}"
    )
    return 0 if holds else 1


def cases() -> list[Case]:
    panda, mannequin = mk.load_robot("panda"), mk.load_robot("mannequin")
    ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
    limbs = ("left_fingertips", "right_fingertips", "left_sole", "right_sole")
    # Standing with knees and elbows bent.
    low, high = mannequin.lower, mannequin.upper
    bent = np.where(low > -1e-9, low + 0.3 * (high - low), np.where(high < 1e-9, high - 0.3 * (high - low), 0.0))
    hand, body = ("panda_hand",), (mannequin, limbs, bent)
    return [
        Case("panda, velocity limits, 0.5 rad", panda, hand, ready, 0.5, 0.01, False, True),
        Case("panda, both limits, 0.3 rad", panda, hand, ready, 0.3, 0.01, True, True),
        Case("mannequin, velocity limits, 0.15 rad", *body, 0.15, 0.004, False, True),
        Case("mannequin, both limits, 0.15 rad", *body, 0.15, 0.004, True, True),
        Case("wider: panda, velocity limits, 1 rad", panda, hand, ready, 1.0, 0.01, False, False),
        Case("wider: panda, both limits, 1 rad", panda, hand, ready, 1.0, 0.01, True, False),
        Case("wider: mannequin, velocity limits, 0.5 rad", *body, 0.5, 0.004, False, False),
        Case("wider: mannequin, both limits, 0.5 rad", *body, 0.5, 0.004, True, False),
    ]


def follow(case: Case, seconds: float, seed: int) -> Outcome:
    """One stream: each step is timed from Python, the call included."""
    robot, tracker = case.robot, case.tracker
    q = motion(case, seconds, np.random.default_rng(seed))
    poses = [np.ascontiguousarray(robot.pose(tip, q)) for tip in case.tips]
    configurations, times = np.empty_like(q), np.zeros(len(q))
    configurations[0] = q[0]
    for k in range(1, len(q)):
        targets = [p[k] for p in poses]
        begin = time.perf_counter()
        step = tracker.step(*targets)
        times[k] = time.perf_counter() - begin
        configurations[k] = step.q
    reached = [robot.pose(tip, configurations) for tip in case.tips]
    errors = np.max([np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1) for a, b in zip(poses, reached, strict=True)], 0)
    moved = [k for k in range(robot.dof) if np.ptp(q[:, k]) > 0]
    speeds = np.abs(np.diff(configurations, axis=0)).max(axis=0) / case.dt / robot.velocity
    pushes = np.abs(np.diff(configurations, 2, axis=0)).max(axis=0) / case.dt**2 / robot.acceleration
    peaks = np.abs(np.diff(q, axis=0)).max(axis=0) / case.dt / robot.velocity
    return Outcome(
        error=float(errors.max()),
        share_missed=float((errors > ERROR_BAR).mean()),
        velocity=float(speeds.max()),
        acceleration=float(pushes.max()) if case.accelerations else math.nan,
        rate=1.0 / float(times[1:].mean()),
        slowest=float(np.quantile(times[1:], 0.99)) * 1e6,
        peak=float(np.median(peaks[moved])),
    )


def motion(case: Case, seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Configurations (N, dof) from rest at home: three sines a joint, scaled in time to what the limits allow."""
    robot, home, ramp = case.robot, case.home, 2.0
    clock = np.arange(0.0, seconds + case.dt / 2, case.dt)
    x = np.clip(clock / ramp, 0.0, 1.0)
    eased = np.where(clock < ramp, ramp * (x**3 - x**4 / 2), clock - ramp / 2)
    q = np.tile(home, (len(clock), 1))
    moving = np.any([robot.moves(tip) for tip in case.tips], axis=0)
    for k in np.flatnonzero(moving):
        rates, phases = rng.uniform(0.5, 1.5, (3, 1)), rng.uniform(0.0, 2 * np.pi, (3, 1))
        shares = rng.uniform(0.3, 1.0, (3, 1))
        shares /= shares.sum()

        def way(speed: float, rates=rates, phases=phases, shares=shares) -> np.ndarray:
            return (shares * (np.sin(speed * rates * eased + phases) - np.sin(phases))).sum(axis=0)

        speed, span = 1.0, case.span
        for _ in range(30):
            shape = way(speed)
            room = 0.95 * np.array([robot.upper[k] - home[k], home[k] - robot.lower[k]])
            span = min(case.span, *(room / np.maximum([shape.max(), -shape.min()], 1e-9)))
            velocity = np.abs(np.diff(span * shape)).max() / case.dt
            scale = SHARE * robot.velocity[k] / velocity
            if case.accelerations:
                acceleration = np.abs(np.diff(span * shape, 2)).max() / case.dt**2
                scale = min(scale, math.sqrt(SHARE * robot.acceleration[k] / acceleration))
            speed *= scale
            if abs(scale - 1.0) < 1e-3:
                break
        q[:, k] += span * way(speed)
    return q


def out_of_reach() -> bool:
    """A target that goes out of reach of the panda and comes back, again and again, and one that jumps about."""
    panda = mk.load_robot("panda")
    ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
    dt, rng = 0.01, np.random.default_rng(0)
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=ready, dt=dt)
    home = panda.pose("panda_hand", ready)
    configurations, back = [ready], []
    for _ in range(20):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        for share in np.concatenate([np.linspace(0, 1, 100), np.ones(50), np.linspace(1, 0, 100), np.zeros(200)]):
            target = home.copy()
            target[:3, 3] += 1.5 * (3 * share**2 - 2 * share**3) * direction
            step = tracker.step(target)
            configurations.append(step.q)
        back.append(step.error)
    jumps = []
    for _ in range(20):
        target = panda.pose("panda_hand", ready + 0.5 * rng.uniform(-1, 1, panda.dof) * (np.arange(panda.dof) < 7))
        for _ in range(400):
            step = tracker.step(target)
            configurations.append(step.q)
        jumps.append(step.error)
    speeds = (np.abs(np.diff(configurations, axis=0)).max(axis=0) / dt / panda.velocity).max()
    pushes = (np.abs(np.diff(configurations, 2, axis=0)).max(axis=0) / dt**2 / panda.acceleration).max()
    print(
        f"panda: {len(back)} excursions 1.5 m away, {sum(e < 1e-5 for e in back)} recovered from 2 s after they end; "
        f"{len(jumps)} jumps, {sum(e < 1e-5 for e in jumps)} reached within 4 s; "
        f"velocity {speeds:.6f}, acceleration {pushes:.4f} of their limits"
    )
    return max(back + jumps) < 1e-5 and speeds <= 1.0 and pushes <= 1.0 + 1e-6


def closed_path() -> None:
    """Ten times around a circle of 0.3 m, 4 s each: how far the configuration is from where it began, at once and at
    rest."""
    panda = mk.load_robot("panda")
    ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
    center = panda.pose("panda_hand", ready)
    angles = np.linspace(0.0, 2 * np.pi, 401)[1:]
    for weight in (0.03, 0.0):
        tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=ready, dt=0.01, reference_weight=weight)
        ends, worst = [], 0.0
        for _ in range(10):
            for angle in angles:
                target = center.copy()
                target[:3, 3] += 0.15 * np.array([0.0, math.sin(angle), math.cos(angle) - 1.0])
                error = tracker.step(target).error
                # The first turn begins with a jump of velocity.
                worst = max(worst, error if ends else 0.0)
            ends.append(tracker.q)
        for _ in range(200):
            tracker.step(center)
        print(
            f"closed path, reference weight {weight:g}: largest error {worst:.1e} m; off the start by "
            f"{np.abs(ends[0] - ready).max():.4f} rad after one turn, {np.abs(ends[-1] - ready).max():.4f} after ten, "
            f"{np.abs(tracker.q - ready).max():.1e} at rest"
        )


if __name__ == "__main__":
    sys.exit(main())
