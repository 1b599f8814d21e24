"""A loop of 1 kHz: what a call costs in its worst moments, beside how late the system wakes a thread that does nothing.

Run: python benchmarks/jitter.py [--seconds 20] [--rate 1000] [--realtime 50]
Takes about a minute and a half.

Every tick sleeps until its time, wakes, and makes one call: nothing at all, a step of the tracker, a solve from the
last answer. "late" is how long after its time a tick woke: that is the system's doing, and the same for all three.
"call" is from waking to the end of the call. A tick is missed when its call ends after the next tick's time. The three
take turns, a second each, on one pinned core. --realtime asks for the scheduling class SCHED_FIFO, which needs the
right to it.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable

import numpy as np
from peers.measure import pinned
from peers.report import Report

import memetik as mk

SPEED = 0.5
"""Radians per second of the motion that is followed, per joint, at most."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each kind of tick")
    parser.add_argument("--rate", type=float, default=1000.0, help="ticks per second")
    parser.add_argument("--realtime", type=int, metavar="PRIORITY", help="use SCHED_FIFO with this priority")
    options = parser.parse_args(arguments)
    report, period = Report(), 1.0 / options.rate
    with pinned() as core:
        if options.realtime is not None:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(options.realtime))
        ticks = int(options.seconds * options.rate)
        calls = {"nothing": lambda k: None, "tracker step": tracker_step(period), "solve": solve(period)}
        for call in calls.values():
            for k in range(200):
                call(k)
        late, spent = measure(calls, ticks, int(options.rate), period)
    kind = "SCHED_FIFO" if options.realtime is not None else "the usual scheduler"
    report.say(f"{options.rate:g} Hz, {ticks} ticks of each kind, core {core}, {kind}, load {os.getloadavg()[0]:.1f}")
    rows = []
    for name in calls:
        ends = late[name] + spent[name]
        columns = (late[name], spent[name], ends)
        figures = [f"{np.percentile(values, share) * 1e6:.1f}" for values in columns for share in (50, 99.9)]
        rows.append([name, *figures, f"{np.max(spent[name]) * 1e6:.0f}", f"{int((ends > period).sum())}"])
    names = ("tick", "late us", "p99.9", "call us", "p99.9", "end us", "p99.9", "slowest call", "missed")
    report.table("microseconds", names, rows)
    for name in ("tracker step", "solve"):
        tail = float(np.percentile(spent[name], 99.9))
        figure = f"{tail * 1e6:.0f} us of {period * 1e6:.0f}"
        report.bar(f"{name}: 99.9 % of the calls within a tick", figure, tail < period)
    return report.status()


def measure(
    calls: dict[str, Callable[[int], object]], ticks: int, turn: int, period: float
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """How late each tick woke, and how long its call took; the kinds take turns of `turn` ticks."""
    late, spent = ({name: np.zeros(ticks) for name in calls} for _ in range(2))
    gc.collect()
    gc.disable()  # as a control loop would
    for begin in range(0, ticks, turn):
        for name, call in calls.items():
            due = time.perf_counter() + period
            for k in range(begin, min(begin + turn, ticks)):
                time.sleep(max(0.0, due - time.perf_counter()))
                woken = time.perf_counter()
                call(k)
                end = time.perf_counter()
                late[name][k], spent[name][k] = woken - due, end - woken
                due = max(due + period, end)
    gc.enable()
    return late, spent


def path(robot: mk.Robot, period: float) -> list[np.ndarray]:
    """Poses of a smooth motion of all joints, one a tick, ten seconds long and closed."""
    count = round(10.0 / period)
    phase = 2.0 * np.pi * np.arange(count) / count
    center, amplitude = np.asarray(robot.state("ready"))[:7], SPEED * 10.0 / (2.0 * np.pi * 4.0)
    q = np.tile(robot.state("ready"), (count, 1))
    q[:, :7] = center + amplitude * np.sin(np.outer(phase, np.arange(1, 5))[:, [0, 1, 2, 3, 0, 1, 2]])
    return list(robot.pose(robot.tip, np.clip(q, robot.lower, robot.upper)))


def tracker_step(period: float) -> Callable[[int], object]:
    robot = mk.load_robot("panda")
    tracker = mk.Tracker(mk.Problem(robot, mk.Pose(robot.tip)), seed=robot.state("ready"), dt=period)
    poses = path(robot, period)
    return lambda k: tracker.step(poses[k % len(poses)])


def solve(period: float) -> Callable[[int], object]:
    robot = mk.load_robot("panda")
    problem, poses = mk.Problem(robot, mk.Pose(robot.tip)), path(robot, period)
    last = [np.array(robot.state("ready"))]

    def call(k: int) -> object:
        solution = problem.solve(poses[k % len(poses)], seed=last[0], timeout=0.5 * period)
        if solution.success:
            last[0] = solution.q
        return solution

    return call


if __name__ == "__main__":
    sys.exit(main())
