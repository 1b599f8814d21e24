"""Fuzzes every binding of the core: no argument may end the process.

    python benchmarks/fuzz_bindings.py [--seconds 60] [--seed 0] [--only Tree]

Walks the names of memetik._core: functions, constructors, methods and properties. Sound objects are taken from real
solves, models and plans; their arguments, by the types that the signatures name, are then replaced by others: arrays of
wrong shapes and types, NaN, infinite and huge numbers, negative indices, None, other objects. A child process makes the
calls and names each before it makes it, so that a crash or a call that never returns is caught with its name and its
number; the next child goes on after it. Prints the bindings that were called, and each that ended a child; status 1 if
there is one.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

MOST_MEMORY = 6 << 30
PATIENCE = 20.0  # seconds for one call
START = 180.0  # seconds until a child makes its first call, on a busy machine


def corpus() -> dict[str, list[object]]:
    """Sound objects of the core, by the names of their classes."""
    import gc

    import memetik as mk
    from memetik import _core

    robot = mk.load_robot("panda").group("panda_arm")
    scene = mk.Scene()
    scene.add_box("box", (0.1, 0.1, 0.1), mk.transform((0.5, 0.0, 0.1)))
    goals = [mk.Pose(robot.tip), mk.AvoidLimits(), mk.Manipulability(robot.tip)]
    problem = mk.Problem(robot, goals, scene=scene)
    target = robot.pose(robot.tip, robot.random(1))
    kept: list[object] = [problem, problem.solve(target), problem.solve_batch(target[None]), mk.Tracker(problem)]
    kept.append(mk.plan(robot, robot.random(2), scene, robot.random(1), path_timeout=0.5))
    kept.append(mk.MeshChecker(robot, scene))
    kept.extend(mk.methods.method_named(name) for name in ("bio1", "bio2", "de", "pso", "ga", "pick", "jac", "gd"))
    found: dict[str, list[object]] = {}
    for thing in gc.get_objects():
        if type(thing).__module__ == _core.__name__ and not isinstance(thing, type):
            found.setdefault(type(thing).__name__, []).append(thing)
    roots, seen = list(kept), set[int]()
    while roots:  # nanobind's objects are not known to the collector: walk what Python holds
        thing = roots.pop()
        if id(thing) in seen or len(seen) > 20_000:
            continue
        seen.add(id(thing))
        if type(thing).__module__ == _core.__name__:
            found.setdefault(type(thing).__name__, []).append(thing)
        if isinstance(thing, list | tuple | set | frozenset):
            roots.extend(thing)
        elif isinstance(thing, dict):
            roots.extend(thing.values())
        elif type(thing).__module__.startswith("memetik") or isinstance(thing, list):
            names = list(getattr(thing, "__dict__", {})) + [
                slot for kind in type(thing).__mro__ for slot in getattr(kind, "__slots__", ())
            ]
            for name in names:
                try:
                    roots.append(getattr(thing, name))
                except Exception:  # a property that does not apply
                    continue
    found["_kept"] = kept
    return {name: things[:20] for name, things in found.items()}


class Generator:
    """Arguments, sound or not, from a seed."""

    def __init__(self, objects: dict[str, list[object]], seed: int):
        self.objects, self.rng = objects, np.random.default_rng(seed)
        self.pool = [thing for name, things in objects.items() if name != "_kept" for thing in things]

    def number(self) -> object:
        values = [0, 1, -1, 2, 7, 1 << 20, -(1 << 31), (1 << 31) - 1, 1 << 63, -(1 << 70), 0.5, -0.5, 1e-300, 1e300]
        values += [float("nan"), float("inf"), -float("inf"), True, None, "x"]
        return values[int(self.rng.integers(len(values)))]

    def array(self, kind: str) -> object:
        rng = self.rng
        sizes = (0, 1, 2, 3, 4, 6, 7, 8, 16, 64)
        shape = tuple(int(rng.choice(sizes)) for _ in range(int(rng.integers(0, 5))))
        if rng.random() < 0.6:  # shapes that bindings ask for
            likely = [(7,), (1, 7), (5, 7), (3,), (3, 4), (4, 4), (1, 3, 4), (5, 3), (5, 1, 4, 4), (5, 6, 7), (5, 7, 7)]
            shape = likely[int(rng.integers(len(likely)))]
        kinds = ["float64", "float64", "float32", "int32", "int64", "uint8", "bool", "complex128", "object"]
        chosen = kind if rng.random() < 0.85 and kind in [*kinds, "uint64"] else str(rng.choice(kinds))
        if chosen in ("int32", "int64", "uint8", "uint64"):
            values = rng.integers(-3, 40, shape)
            if rng.random() < 0.2 and values.size:
                values.flat[int(rng.integers(values.size))] = int(rng.choice([-(1 << 31), (1 << 31) - 1, -1, 1 << 20]))
            made = values.astype(chosen)
        else:
            values = rng.normal(0.0, 10.0 ** rng.uniform(-3, 3), shape)
            if rng.random() < 0.3 and np.size(values):
                values = np.array(values)
                values.flat[int(rng.integers(values.size))] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e-300])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = np.asarray(values).astype(chosen)
        if rng.random() < 0.1 and made.ndim > 1:
            made = made.T
        return made

    def argument(self, text: str) -> object:
        """A value for an argument whose type a signature names."""
        rng = self.rng
        if rng.random() < 0.05:
            return [None, self.number(), self.array("float64"), "", [], (), {}][int(rng.integers(7))]
        if rng.random() < 0.05 and self.pool:
            return self.pool[int(rng.integers(len(self.pool)))]
        if match := re.search(r"dtype=(\w+)", text):
            return self.array(match[1])
        known = [name for name in self.objects if name != "_kept" and re.search(rf"\b{name}\b", text)]
        if known:
            things = self.objects[str(rng.choice(known))]
            thing = things[int(rng.integers(len(things)))]
            return [thing] * int(rng.integers(0, 4)) if "Sequence" in text or "list" in text else thing
        if "tuple" in text:
            return tuple(self.array("float64") for _ in range(int(rng.integers(0, 4))))
        if "Sequence" in text or "list" in text:
            return [self.number() for _ in range(int(rng.integers(0, 9)))]
        if "bool" in text:
            return bool(rng.integers(2))
        if "str" in text:
            return str(rng.choice(["", "bio1", "de", "memetic", "é" * 1000, "\0"]))
        if "int" in text and rng.random() < 0.5:
            return int(rng.integers(-2, 9))
        return self.number()


def signature(call: object) -> list[tuple[str, str]]:
    """Names and types of the arguments, from nanobind's own signature."""
    signatures = getattr(call, "__nb_signature__", ())
    text = str(signatures[0][0]) if signatures else ""
    inner = text[text.find("(") + 1 : text.rfind(") ->")]
    parts, depth, start = list[str](), 0, 0
    for k, letter in enumerate(inner + ","):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append(inner[start:k].strip())
            start = k + 1
    pairs = [part.partition(":") for part in parts if part and part not in ("self", "*", "/")]
    return [(name.strip(), kind) for name, _, kind in pairs if name.strip() != "self"]


Binding = tuple[str, str, str]
"""A class or "", a member or "", and what is done: call, make, get."""


def bindings() -> list[Binding]:
    """Everything that can be called or read."""
    from memetik import _core

    found: list[Binding] = []
    for name in sorted(dir(_core)):
        thing = getattr(_core, name)
        if name.startswith("_"):
            continue
        if not isinstance(thing, type):
            found += [("", name, "call")] * callable(thing)
            continue
        if issubclass(thing, int):  # an enumeration
            continue
        found.append((name, "__init__", "make"))
        for member in sorted(dir(thing)):
            if member.startswith("__") and member not in ("__call__", "__setstate__", "__getstate__", "__repr__"):
                continue
            found.append((name, member, "get" if isinstance(getattr(thing, member), property) else "call"))
    return found


def call(generator: Generator, binding: Binding) -> None:
    """One call with arguments of the generator; what it raises is fine."""
    from memetik import _core

    owner, member, what = binding
    kind = getattr(_core, owner) if owner else None
    function = getattr(kind, member) if kind is not None else getattr(_core, member)
    things = generator.objects.get(owner, [])
    one = things[int(generator.rng.integers(len(things)))] if things else None
    if what == "get":
        if one is not None:
            getattr(one, member)
        return
    parameters = signature(function)
    values = [(name, generator.argument(kind_text)) for name, kind_text in parameters]
    by_name = {name: value for name, value in values if not name.startswith("arg")}
    target: Callable[..., object]
    if what == "make":
        assert kind is not None
        target = kind
    elif one is not None and not isinstance(kind.__dict__.get(member), staticmethod):
        target = getattr(one, member)
    else:
        target = function
    made = target(**by_name) if len(by_name) == len(values) else target(*[value for _, value in values])
    if what == "make" and made is not None and len(generator.objects.setdefault(owner, [])) < 20:
        generator.objects[owner].append(made)


def run_child(given: argparse.Namespace) -> None:
    """Makes calls until the time is over, and names each before it is made."""
    soft = resource.getrlimit(resource.RLIMIT_AS)[1]
    if not os.environ.get("LD_PRELOAD"):  # sanitizers reserve more than any limit
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, soft))
    warnings.simplefilter("ignore")
    chosen = [binding for binding in bindings() if given.only in binding[0] + "." + binding[1]]
    objects, end = corpus(), time.monotonic() + given.seconds
    lines = os.fdopen(given.pipe, "w", buffering=1)
    for number in range(given.first, 1 << 60):
        if time.monotonic() > end:
            break
        generator = Generator(objects, given.seed * 1_000_003 + number)
        binding = chosen[number % len(chosen)]
        lines.write(f"{number} {binding[0]}.{binding[1]}\n")
        try:
            call(generator, binding)
        except Exception:  # any typed answer is right: the process goes on
            continue
    lines.write("over\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="bindings whose name contains this")
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--pipe", type=int, default=-1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pipe >= 0:
        run_child(given)
        return 0
    end, first, calls, crashed, called = time.monotonic() + given.seconds, given.first, 0, list[str](), set[str]()
    while (left := end - time.monotonic()) > 0:
        begin, last, how = first, "", watch(given, left, first)
        for line in how[1]:
            if line != "over":
                number, last = line.split(" ", 1)
                first = int(number) + 1
                called.add(last)
        calls += first - begin
        if how[0] != 0 or first == begin:
            crashed.append(f"{last or 'start'} (call {first - 1}): {how[2]}")
            print(f"ended by {crashed[-1]}", flush=True)
            if first == begin:
                break
    print(f"{calls} calls of {len(called)} bindings, {len(crashed)} ended the process")
    return int(bool(crashed))


def watch(given: argparse.Namespace, seconds: float, first: int) -> tuple[int, list[str], str]:
    """Status of a child, the calls that it named, and how it ended."""
    reads, writes = os.pipe()
    command = [sys.executable, str(Path(__file__)), "--seconds", str(seconds), "--seed", str(given.seed)]
    command += ["--only", given.only, "--first", str(first), "--pipe", str(writes)]
    child = subprocess.Popen(command, pass_fds=(writes,), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(writes)
    os.set_blocking(reads, False)
    text, heard = b"", time.monotonic()
    while child.poll() is None and time.monotonic() - heard < (PATIENCE if text else START):
        try:
            part = os.read(reads, 1 << 20)
        except BlockingIOError:
            part = b""
        if part:
            text, heard = text + part, time.monotonic()
        time.sleep(0.02)
    hung = child.poll() is None
    if hung:
        child.kill()
    _, errors = child.communicate()
    while True:
        try:
            part = os.read(reads, 1 << 20)
        except BlockingIOError:
            break
        if not part:
            break
        text += part
    os.close(reads)
    told = errors.decode(errors="replace").strip().splitlines()
    how = f"no answer in {PATIENCE:.0f} s" if hung else f"exit code {child.returncode} {told[-1] if told else ''}"
    return child.returncode, text.decode().splitlines(), how


if __name__ == "__main__":
    sys.exit(main())
