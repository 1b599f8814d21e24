"""The studio while a gizmo is dragged over loopback: solves, updates, share of time solving, length of a step, memory.

Run: python benchmarks/studio.py [--seconds 20] [--robots panda character]

A process of its own connects as a browser does and drags the first goal's gizmo at 60 events a second, through targets
that the robot reaches: the poses of its own link in a slow motion of its joints. It counts the updates that arrive.
A step is all that the server does for one update: what was asked for, the solve, the messages on their way.
The bars: steps at the 95th percentile below 4 ms for panda and 15 ms for the character of 78 joints.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BARS = {"panda": 4.0, "character": 15.0}
"""Milliseconds that the 95th percentile of steps stays below."""

RATE = 60.0


@dataclass(frozen=True)
class Outcome:
    """What a drag came to."""

    robot: str
    joints: int
    seconds: float
    events: int
    solves: int
    updates: int
    received: int
    solving: float
    steps: np.ndarray
    solved: float
    memory: tuple[float, ...]
    """Megabytes of the server's process, once a minute, the first after one minute, the last at the end."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--robots", nargs="+", default=list(BARS))
    arguments = parser.parse_args()
    held = True
    print(f"a gizmo dragged for {arguments.seconds:g} s over loopback, {RATE:g} events a second")
    for robot in arguments.robots:
        outcome = drag(robot, arguments.seconds)
        held &= tell(outcome)
    return 0 if held else 1


def tell(outcome: Outcome) -> bool:
    """Prints an outcome; whether its bar holds."""
    seconds = outcome.seconds
    low, high = np.percentile(1e3 * outcome.steps, [50, 95])
    bar = BARS.get(outcome.robot)
    verdict = "" if bar is None else f" (bar {bar:g} ms: {'holds' if high < bar else 'FAILS'})"
    print(
        f"{outcome.robot}, {outcome.joints} joints: {outcome.events / seconds:.1f} events/s, "
        f"{outcome.solves / seconds:.1f} solves/s ({outcome.solved:.1%} solved), {outcome.updates / seconds:.1f} "
        f"updates/s sent, {outcome.received / seconds:.1f}/s received, {outcome.solving / seconds:.2%} of the time "
        f"solving, step p50 {low:.2f} ms, p95 {high:.2f} ms{verdict}"
    )
    return bar is None or bool(high < bar)


def drag(robot: str, seconds: float) -> Outcome:
    """Opens a studio here and drags its first gizmo from another process."""
    from memetik.studio.app import Studio

    with tempfile.TemporaryDirectory() as folder, Studio(robot, port=0, folder=folder) as studio:
        poses = reachable_poses(studio.state, int(min(seconds, 60.0) * RATE))
        path = Path(folder) / "poses.npy"
        np.save(path, poses)
        node = studio.gizmos.node_name(studio.state.goals[0].name)
        command = [sys.executable, __file__, "--seconds", str(seconds)]
        environment = {**os.environ, "STUDIO_CLIENT": json.dumps([studio.address, node, str(path)])}
        client = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        while not studio.gizmos.dragging and client.poll() is None:
            time.sleep(0.01)
        studio.loop.pulse.reset()
        solved, memory = [], []
        begin = time.perf_counter()
        while client.poll() is None:
            time.sleep(0.05)
            if studio.solution is not None:
                solved.append(studio.solution.success)
            if time.perf_counter() - begin > 60.0 * (len(memory) + 1):
                memory.append(megabytes())
        took = time.perf_counter() - begin
        printed = client.communicate()[0]
        if client.returncode:
            raise RuntimeError("the client failed.")
        counts = json.loads(printed)
        pulse = studio.loop.pulse
        return Outcome(
            robot,
            studio.state.robot.dof,
            took,
            counts["events"],
            pulse.solves,
            pulse.updates,
            counts["updates"],
            pulse.solving,
            np.array(pulse.steps),
            float(np.mean(solved)),
            (*memory, megabytes()),
        )


def reachable_poses(state: Any, count: int) -> np.ndarray:
    """Poses (count, 4, 4) of the first goal's link while the joints that move it swing slowly, the other links that
    goals hold in their place: solved beforehand, so that each is known to be reached."""
    from memetik.studio.session.session import Session
    from memetik.studio.session.solving import LiveSolver

    session, solver = Session(state.source), LiveSolver()
    name = state.goals[0].name
    centre = np.array(state.goals[0].target)
    if len(state.goals) > 1:
        centre[:3, 3] += (0.05, 0.0, 0.2)  # arms that hang down have nowhere to go but up
    poses = []
    for turn in _turns(count):
        pose = centre.copy()
        pose[:3, 3] += 0.06 * np.array([np.sin(3.0 * turn), np.sin(2.0 * turn), np.sin(5.0 * turn)])
        session.drag(name, pose)
        solution = solver.solve(session.state)
        assert solution is not None
        session.follow(solution.q.copy())
        poses.append(state.robot.pose(state.goals[0].goal.links[0], solution.q))
    return np.array(poses)


def _turns(count: int) -> Iterator[float]:
    return iter(2.0 * np.pi * np.arange(count) / count)


async def client(address: str, node: str, path: str, seconds: float) -> None:
    """Connects as a browser does, drags, and prints what it counted."""
    import msgspec
    import viser
    import zstandard
    from viser._messages import (
        TransformControlsDragEndMessage,
        TransformControlsDragStartMessage,
        TransformControlsUpdateMessage,
        ViewerCameraMessage,
    )
    from websockets.asyncio.client import connect

    from memetik.studio.views.robot_view import wxyz_of

    poses = np.load(path)
    counts = {"events": 0, "updates": 0, "bytes": 0}

    def packed(message: Any) -> bytes:
        return msgspec.msgpack.encode(message.as_serializable_dict([]))

    uri = address.replace("http://", "ws://")
    origin = address.rstrip("/")
    async with connect(uri, subprotocols=[f"viser-v{viser.__version__}"], origin=origin, max_size=None) as socket:

        async def receive() -> None:
            decompressor = zstandard.ZstdDecompressor()
            async for data in socket:
                size, packed_size = (int.from_bytes(data[k : k + 8], "little") for k in (0, 8))
                frame = decompressor.decompress(data[16 : 16 + packed_size], max_output_size=size)
                counts["bytes"] += len(data)
                messages = msgspec.msgpack.decode(frame)["messages"]
                counts["updates"] += any(
                    m["type"] in ("SetPositionMessage", "SetOrientationMessage") and m["name"].startswith("/robot_")
                    for m in messages
                )

        listening = asyncio.create_task(receive())
        camera = ViewerCameraMessage((1, 0, 0, 0), (2, 2, 1), 1.0, 0.01, 100.0, 600, 800, (0, 0, 0), (0, 0, 1))
        await socket.send(packed(camera))
        await asyncio.sleep(1.5)
        counts.update(updates=0, bytes=0)
        await socket.send(packed(TransformControlsDragStartMessage(node)))
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            pose = poses[counts["events"] % len(poses)]
            wxyz, position = tuple(wxyz_of(pose).tolist()), tuple(pose[:3, 3].tolist())
            await socket.send(packed(TransformControlsUpdateMessage(node, wxyz, position)))
            counts["events"] += 1
            await asyncio.sleep(max(0.0, begin + counts["events"] / RATE - time.perf_counter()))
        await socket.send(packed(TransformControlsDragEndMessage(node)))
        listening.cancel()
    print(json.dumps(counts))


def megabytes() -> float:
    """What this process keeps in memory, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    if "STUDIO_CLIENT" in os.environ:
        asyncio.run(client(*json.loads(os.environ["STUDIO_CLIENT"]), float(sys.argv[2])))
    else:
        sys.exit(main())
