"""Adapters that behave badly, and one that takes its time; read by workers, not imported by tests."""

import ctypes
import os
import time

import numpy as np


class _Ready:
    def prepare(self, task):
        self.task = task

    def close(self):
        pass


class Liar(_Ready):
    """Claims that the seed is the answer."""

    def solve(self, target, seed, timeout):
        return seed


class OutOfLimits(_Ready):
    """Claims a configuration beyond the limits."""

    def solve(self, target, seed, timeout):
        return self.task.upper + 1.0


class Nonsense(_Ready):
    """Claims numbers that are none, and too few of them."""

    def solve(self, target, seed, timeout):
        return np.full(2, np.nan)


class Hanger(_Ready):
    """Never answers."""

    def solve(self, target, seed, timeout):
        while True:
            time.sleep(10.0)


class Crasher(_Ready):
    """Reads where nothing is."""

    def solve(self, target, seed, timeout):
        ctypes.string_at(0)


class Eater(_Ready):
    """Takes all memory it can get."""

    def solve(self, target, seed, timeout):
        held = []
        while True:
            held.append(np.ones(2_000_000))


class Raiser(_Ready):
    """Raises."""

    def solve(self, target, seed, timeout):
        raise ValueError("no such luck")


class Leaver(_Ready):
    """Ends its process in the middle."""

    def solve(self, target, seed, timeout):
        os._exit(3)


class Chatty(_Ready):
    """Prints, and finds nothing."""

    def solve(self, target, seed, timeout):
        print("looking", flush=True)
        os.write(1, b'{"q": [0, 0, 0, 0, 0, 0], "time": 0}\n')


class Slow(_Ready):
    """Takes a while and finds nothing."""

    def solve(self, target, seed, timeout):
        time.sleep(0.02)
        return {"q": None, "evaluations": 7}


class Picky(_Ready):
    """Takes part nowhere."""

    def prepare(self, task):
        raise NotImplementedError("it does not like robots")

    def solve(self, target, seed, timeout):
        return None


class Seer:
    """Knows all goals and joints, and the scene: memetik's own solver behind the interface for whole problems."""

    whole = True
    collision = True

    def prepare(self, task):
        import pickle

        with open(task.problem, "rb") as file:
            self.problem = pickle.load(file)

    def solve(self, target, seed, timeout):
        solution = self.problem.solve(*target, seed=seed, timeout=timeout)
        return solution.q if solution.success else None

    def close(self):
        pass


class InstantNone(_Ready):
    """Finds nothing in no time."""

    def solve(self, target, seed, timeout):
        return None


class TimeLiar(_Ready):
    """Says that it needed no time."""

    def solve(self, target, seed, timeout):
        time.sleep(0.02)
        return {"q": None, "time": 0.0, "processor": 0.0}


class ClockTurner(_Ready):
    """Stops the clocks that it finds, in the worker too."""

    def prepare(self, task):
        import sys

        def stopped():
            return 0.0

        time.perf_counter = stopped
        sys.modules["__main__"].perf_counter = stopped

    def solve(self, target, seed, timeout):
        time.sleep(0.06)


class Answers(_Ready):
    """For each target another answer that is none."""

    WRONG = (
        {"q": None, "evaluations": "many"}, {"q": None, "restarts": -1}, {"q": None, "candidates": [1, 2]},
        {"q": None, "generations": 10**30}, {"q": None, "collision_time": np.nan}, {"q": None, "evaluations": {1}},
        {"foo": 1}, "configuration", [["a"] * 6], ["1"] * 6, np.zeros((2, 3)), np.zeros(5), np.zeros(7), [np.nan] * 6,
        [10**400] * 6, {}, 3.0, [True] * 6,
    )  # fmt: skip

    def solve(self, target, seed, timeout):
        return self.WRONG[self.task.stream[1]]


class Parent(_Ready):
    """Starts a process, and hangs."""

    def solve(self, target, seed, timeout):
        import subprocess
        import sys

        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(77)", "memetik-orphan"])
        time.sleep(60.0)


class HungryParent(_Ready):
    """Lets another process eat."""

    def solve(self, target, seed, timeout):
        import subprocess
        import sys

        subprocess.run([sys.executable, "-c", "x = bytearray(800_000_000)\nwhile True: x[0] = 1"])


class Tardy(Seer):
    """Right, and a little late."""

    whole = True
    collision = True

    def solve(self, target, seed, timeout):
        begin = time.perf_counter()
        q = super().solve(target, seed, 1.0)
        while time.perf_counter() - begin < 1.05 * timeout:
            pass
        return q


class Missing(Seer):
    """Right, but for every third target, of which it says nothing."""

    whole = True
    collision = True

    def prepare(self, task):
        super().prepare(task)
        self.task = task

    def solve(self, target, seed, timeout):
        return None if self.task.stream[1] % 3 == 2 else super().solve(target, seed, 1.0)
