"""The process in which one solver lives: started with its own Python, it needs numpy and the solver, not memetik.

    python worker.py ADAPTER.py|MODULE CLASS [CORE]

Requests come as lines of JSON on the standard input, answers leave as lines of JSON on what was the standard output.
What the solver prints goes to the standard error. The process ends with its input, that is, with whoever started it.

An adapter is a class of three methods:

    prepare(task)                 gets ready for a robot and goals; NotImplementedError("why") where it cannot
    solve(target, seed, timeout)  a configuration, None, or {"q": configuration or None} with any of the whole numbers
                                  "evaluations", "restarts", "generations", "candidates" and of the seconds
                                  "collision_time"; other entries are not looked at. Time is measured here.
    close()                       lets go of what it holds

and, where it has other wants, of three attributes:

    package = ""        the distribution whose version is recorded
    whole = False       False: the serial chain to one link, with one pose as target. `target` is (4, 4) in the frame of
                        the chain's base, `seed` and answer (n,) have the chain's joints only.
                        True: all goals and joints. `target` is a list of arrays, one for each goal, `seed` (dof,).
    collision = False   True: it looks at the scene by itself. Otherwise colliding answers are turned away outside, and
                        it is asked again from another seed while there is time (rejection sampling).

A task has the attributes
    urdf                            text: the chain alone, without shapes
    base, tip                       names of its first and last link
    joints, kinds                   names and kinds (revolute, continuous, prismatic) of the joints, from the base on
    children                        the link that each joint moves
    lower, upper                    (n,) limits; infinite where there are none
    axes, points                    (n, 3) of each joint at the zero configuration, in the base's frame
    tip_pose                        (4, 4) of the last link there
    position_tolerance, rotation_tolerance
                                    metres, radians: norms that the errors must not exceed
    timeout                         seconds that a solve will be given
    parameters                      {} or what the user set
    problem                         path of a pickled memetik Problem, for adapters that live where memetik does
    rng                             a numpy generator, seeded anew before each solve; `stream` are its two seeds
    random()                        a random configuration (n,) of the chain within its limits
    starts(seed, timeout)           the seed, then random configurations until the time is over, for solvers without any
    restarted(search, seed, timeout), descended(step, most), reached(pose, target), urdf_file(), quaternion(rotation)
                                    what adapters of ours share
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, process_time  # bound before an adapter is there that might put others in their place
from typing import Any

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ARRAYS = ("lower", "upper", "axes", "points", "tip_pose")
TOLD = ("evaluations", "restarts", "generations", "candidates", "collision_time")


def main() -> None:
    requests, answers = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    path, name = sys.argv[1:3]
    if len(sys.argv) > 3 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[3])})
    end_with_parent()
    session = Session()
    for line in requests:
        request = json.loads(line)
        try:
            answer = json.dumps(session.answer(request, path, name))
        except NotImplementedError as error:
            answer = json.dumps({"unsupported": str(error) or "it does not apply"})
        except MemoryError:
            answer = json.dumps({"memory": True})
        except BaseException as error:  # what Rust raises in panic is no Exception
            answer = json.dumps({"error": f"{type(error).__name__}: {error}"[:500]})
        answers.write(answer + "\n")
        answers.flush()


class Task:
    """What the adapter is told, as attributes."""

    lower: np.ndarray
    upper: np.ndarray
    position_tolerance: float
    rotation_tolerance: float
    urdf: str

    def __init__(self, data: dict):
        for key, value in data.items():
            setattr(self, key, np.array(value, dtype=float) if key in ARRAYS else value)
        self.reseed((0, 0))

    def reseed(self, stream: tuple) -> None:
        self.stream, self.rng = stream, np.random.default_rng(stream)

    def random(self) -> np.ndarray:
        limited = np.isfinite(self.lower) & np.isfinite(self.upper)
        return self.rng.uniform(np.where(limited, self.lower, -np.pi), np.where(limited, self.upper, np.pi))

    def starts(self, seed: np.ndarray, timeout: float):
        end = time.perf_counter() + timeout
        while True:
            yield seed
            if time.perf_counter() >= end:
                return
            seed = self.random()

    def restarted(self, search: Callable, seed: np.ndarray, timeout: float) -> dict:
        """The first configuration that search(start) finds from these starts.

        It gives (q or None, evaluations); None for evaluations that are not counted.
        """
        q, evaluations, searches = None, None, 0
        for start in self.starts(seed, timeout):
            searches += 1
            q, steps = search(start)
            evaluations = None if steps is None else steps + (evaluations or 0)
            if q is not None:
                break
        return {"q": q, "evaluations": evaluations, "restarts": searches - 1}

    def descended(self, step: Callable[[], tuple], most: int) -> tuple[bool, int]:
        """Whether the errors that step() gives, metres and radians, get within the tolerances, and after how many.

        It is called until then, until it makes little progress, or so many times.
        """
        last = np.inf
        for count in range(1, most + 1):
            away, angle = step()
            if self.is_near(away, angle):
                return True, count
            size = away + 0.3 * angle
            if count > 4 and size > 0.98 * last:
                return False, count
            last = size
        return False, most

    def reached(self, pose: np.ndarray, target: np.ndarray, share: float = 0.9) -> bool:
        """Whether a pose is at a target, within a share of the tolerances."""
        away = float(np.linalg.norm(pose[:3, 3] - target[:3, 3]))
        angle = float(np.linalg.norm(pose[:3, :3] - target[:3, :3])) / math.sqrt(2.0)
        return self.is_near(away, angle, share)

    def is_near(self, away: float, angle: float, share: float = 0.9) -> bool:
        return bool(away < share * self.position_tolerance and angle < share * self.rotation_tolerance)

    @contextmanager
    def urdf_file(self) -> Iterator[str]:
        """The path of a file with the chain's URDF, for the length of a `with` block."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chain.urdf")
            with open(path, "w") as file:
                file.write(self.urdf)
            yield path

    @staticmethod
    def quaternion(rotation: np.ndarray) -> list:
        """x, y, z, w: the row of the largest of the four squares, as Shepperd has it."""
        m = rotation
        trace = m[0, 0] + m[1, 1] + m[2, 2]
        squares = (m[0, 0], m[1, 1], m[2, 2], trace)
        k = max(range(4), key=squares.__getitem__)
        if k == 3:
            q = [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + trace]
        else:
            i, j, n = k, (k + 1) % 3, (k + 2) % 3
            q = [0.0] * 4
            q[i] = 1.0 - trace + 2.0 * m[i, i]
            q[j], q[n] = m[j, i] + m[i, j], m[n, i] + m[i, n]
            q[3] = m[n, j] - m[j, n]
        length = sum(v * v for v in q) ** 0.5
        return [v / length for v in q]


class Session:
    """The adapter, and the task that it was prepared for."""

    def __init__(self) -> None:
        self.adapter: Any = None
        self.task = Task({})

    def answer(self, request: dict, path: str, name: str) -> dict:
        if request["do"] == "prepare":
            return self.prepare(request["task"], path, name)
        if request["do"] == "solve":
            return self.solve(request)
        if self.adapter is not None:
            self.adapter.close()
        return {}

    def prepare(self, task: dict, path: str, name: str) -> dict:
        if self.adapter is not None:
            self.adapter.close()
        self.adapter = load_adapter(path, name)()
        self.task = Task(task)
        self.adapter.prepare(self.task)
        return {}

    def solve(self, request: dict) -> dict:
        target = request["target"]
        whole = getattr(self.adapter, "whole", False)
        target = [np.array(values, dtype=float) for values in target] if whole else np.array(target, dtype=float)
        seed = np.array(request["seed"], dtype=float)
        self.task.reseed(tuple(request["rng"]))
        before, start = process_time(), perf_counter()
        found = self.adapter.solve(target, seed, request["timeout"])
        seconds, processor = perf_counter() - start, process_time() - before
        told = found if isinstance(found, dict) else {"q": found}
        answer = {key: plain(told[key]) for key in ("q", *TOLD) if key in told}
        return {**answer, "time": seconds, "processor": processor}


def load_adapter(source: str, name: str) -> type:
    """The class of that name in a file, or in a module that is installed."""
    if not source.endswith(".py"):
        return getattr(importlib.import_module(source), name)
    folder = os.path.dirname(os.path.abspath(source))
    if folder != os.path.join(HERE, "adapters") and folder not in sys.path:
        sys.path.append(folder)  # a user's file may import its neighbours; ours have the names of the peers
    label = f"adapter_{os.path.basename(source).removesuffix('.py')}"
    specification = importlib.util.spec_from_file_location(label, source)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[label] = module
    specification.loader.exec_module(module)
    return getattr(module, name)


def plain(value: Any) -> Any:
    """Numbers and arrays of any library as JSON has them."""
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value


def end_with_parent() -> None:
    """Ends this process when the one that started it does, even in the middle of a solve."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    # The script's own folder must not hide packages of the same names.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    main()
