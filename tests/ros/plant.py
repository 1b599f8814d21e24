"""An arm under physics in real time, as hardware: setpoints come in over a local socket, measured states go back.

    python tests/ros/plant.py panda --socket /tmp/arm --log /tmp/arm.jsonl
    python tests/ros/plant.py examples/tasks/panda_boxes.toml --socket /tmp/arm --log /tmp/arm.jsonl

A setpoint is a line of JSON: [q, velocity, acceleration] in the order of the robot's joints. Where none comes for
WATCHDOG seconds, as when the controller dies, the drives brake by themselves at the robot's accelerations. The log has
a line for each 20 ms (wall clock, configuration, velocity) and, each second, where objects are and what has touched.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import time
from pathlib import Path
from typing import TextIO

import numpy as np

import memetik as mk

WATCHDOG = 0.25
PERIOD = 0.004
MOST_BEHIND = 0.5


class Plant:
    """The physics, the reference that the drives follow, and the one client."""

    def __init__(self, source: str, where: str, log: TextIO, scene_file: str | None):
        if source.endswith(".toml"):
            task = mk.load_task(source)
            robot, scene, loose, masses = task.robot, task.scene, task.picked, task.masses
            start = robot.neutral if task.start is None else np.asarray(task.start)
            self.simulation = mk.Simulation(robot, scene, q=start, loose=loose, masses=masses)
        else:
            robot = mk.load_robot(source)
            start, loose = robot.state("ready"), ()
            scene = mk.Scene.load(scene_file) if scene_file else None
            self.simulation = mk.Simulation(robot, scene, q=start)
        self.robot, self.loose = robot, tuple(loose)
        self.q, self.velocity = np.array(start, dtype=float), np.zeros(robot.dof)
        self.acceleration, self.reference = np.zeros(robot.dof), self.q
        self.most = np.where(np.isfinite(robot.acceleration), robot.acceleration, 10.0)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(where)
        self.listener.listen(1)
        self.listener.setblocking(False)
        self.client: socket.socket | None = None
        self.rest, self.heard = b"", time.monotonic()
        self.log = log

    def run(self) -> None:
        began, steps, tick = time.monotonic(), 0, 0
        while True:
            now = time.monotonic()
            self.listen()
            if now - self.heard > WATCHDOG:
                self.brake(PERIOD)
            lag = now - began - self.simulation.timestep * steps
            if lag > MOST_BEHIND:  # a machine that cannot keep up: time is lost for physics and reference alike
                began += lag - PERIOD
            count = max(int((now - began) / self.simulation.timestep) - steps, 0)
            for _ in range(count):
                self.follow()
                self.simulation.step()
            steps += count
            self.tell()
            tick += 1
            if tick % 5 == 0:
                self.note(tick % 250 == 0)
            time.sleep(max(PERIOD - (time.monotonic() - now), 0.0))

    def follow(self) -> None:
        """Towards the setpoint, as drives do: where it has jumped, no faster than the joints may go."""
        most = self.robot.velocity * self.simulation.timestep
        gap = self.q - self.reference
        if (np.abs(gap) > most).any():
            change = np.clip(gap, -most, most)
            self.reference = self.reference + change
            self.simulation.command(self.reference, change / self.simulation.timestep)
        else:
            self.reference = self.q
            self.simulation.command(self.q, self.velocity, self.acceleration)

    def listen(self) -> None:
        """Take the newest setpoint."""
        if self.client is None:
            try:
                self.client = self.listener.accept()[0]
                self.client.setblocking(False)
                self.rest = b""
            except BlockingIOError:
                return
        try:
            data = self.client.recv(1 << 20)
            if not data:
                self.client = None
                return
        except BlockingIOError:
            return
        except OSError:
            self.client = None
            return
        lines = (self.rest + data).split(b"\n")
        self.rest = lines[-1]
        if len(lines) > 1:
            self.q, self.velocity, self.acceleration = (np.array(row) for row in json.loads(lines[-2]))
            self.heard = time.monotonic()

    def tell(self) -> None:
        if self.client is None:
            return
        try:
            row = [self.simulation.q.tolist(), self.simulation.velocity.tolist()]
            self.client.send(json.dumps(row).encode() + b"\n")
        except BlockingIOError:
            pass
        except OSError:
            self.client = None

    def brake(self, seconds: float) -> None:
        slower = np.sign(self.velocity) * np.maximum(np.abs(self.velocity) - self.most * seconds, 0.0)
        self.q = self.robot.clip(self.q + 0.5 * (self.velocity + slower) * seconds)
        self.velocity, self.acceleration = slower, np.zeros(self.robot.dof)

    def note(self, everything: bool) -> None:
        row = {"t": time.time(), "q": self.simulation.q.tolist(), "v": self.simulation.velocity.tolist()}
        row["reference"] = self.reference.tolist()
        if everything:
            row["objects"] = {name: self.simulation.pose(name)[:3, 3].tolist() for name in self.loose}
            row["touches"] = [[touch.first, touch.second, touch.force] for touch in self.simulation.touches[-50:]]
        self.log.write(json.dumps(row) + "\n")
        self.log.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--scene")
    given = parser.parse_args()
    with contextlib.suppress(OSError):
        os.nice(-5)  # as what drives an arm has to be, on a machine that does other things too
    with Path(given.log).open("w") as log:
        plant = Plant(given.source, given.socket, log, given.scene)
        print("plant", flush=True)
        plant.run()


if __name__ == "__main__":
    main()
