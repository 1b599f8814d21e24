"""Solvers by name: memetik's methods, peers, and adapters of the user's own; where each of them lives."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from memetik.bench.peers.process import Command
from memetik.errors import InvalidInputError, MemetikError, UnknownNameError
from memetik.geometry import cache
from memetik.solve.methods import METHODS, method_named

ADAPTERS = Path(__file__).with_name("adapters")

ENTRY_POINTS = "memetik.adapters"
"""Group of entry points under which packages name adapters: my_solver = "my_package.adapter:MyAdapter"."""


class MissingPeerError(MemetikError):
    """A peer is known, but not installed."""


@dataclass(frozen=True)
class Peer:
    """Somebody else's solver.

    module    what its Python imports.
    packages  what pip installs for it; none where it is not on the package index.
    adapter   file and class of the adapter.
    summary   a line for lists.
    found     where to get it, for those that pip does not have.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    adapter: str
    summary: str
    found: str = ""


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("pytracik", "pytracik", ("pytracik",), "pytracik:PyTracIk",
             "TRAC-IK: Newton steps and SQP in two threads"),
        Peer("roboticstoolbox", "roboticstoolbox", ("roboticstoolbox-python",), "roboticstoolbox:RoboticsToolbox",
             "Levenberg-Marquardt in C++ with restarts"),
        Peer("eaik", "eaik", ("eaik",), "eaik:Eaik", "closed forms of six-joint arms"),
        Peer("frankik", "frankik", ("frankik",), "frankik:Frankik", "closed forms of Franka's arms"),
        Peer("placo", "placo", ("placo",), "placo:Placo", "quadratic programs on Pinocchio, C++"),
        Peer("pink", "pink", ("pin-pink", "daqp"), "pink:Pink", "quadratic programs on Pinocchio"),
        Peer("mink", "mink", ("mink", "daqp"), "mink:Mink", "quadratic programs on MuJoCo"),
        Peer("ikpy", "ikpy", ("ikpy",), "ikpy:IkPy", "least squares by scipy"),
        Peer("roboplan", "roboplan", ("roboplan",), "roboplan:RoboPlan", "damped steps with restarts, C++"),
        Peer("klampt", "klampt", ("klampt",), "klampt:Klampt", "Newton's method, C++"),
        Peer("mplib", "mplib", ("mplib",), "mplib:MpLib", "closed-loop steps on Pinocchio, C++"),
        Peer("relaxed-ik-core", "relaxed_ik_lib", ("relaxed-ik-core",), "relaxed_ik_core:RelaxedIkCore",
             "RangedIK, for streams of poses, Rust"),
        Peer("pykdl", "PyKDL", (), "pykdl:PyKdl", "Levenberg-Marquardt of Orocos KDL, C++",
             "it comes with ROS and Debian (python3-pykdl); name a Python that has it in MEMETIK_PEER_PYKDL"),
        Peer("pyroki", "pyroki", (), "pyroki:PyRoki", "nonlinear least squares in JAX",
             "install it from its repository, and name the Python that has it in MEMETIK_PEER_PYROKI"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Solver:
    """A solver as it takes part: its name, a label for plots, its parameters, and the adapter that speaks for it.

    source is what `find_solver` was asked for, origin is "method", "peer" or "user"; version is that of its package, ""
    where it names none.
    """

    source: str
    name: str
    label: str
    origin: str
    command: Command
    whole: bool
    collision: bool
    parameters: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that the user set."""
        return {key: value for key, value in self.parameters.items() if key != "method" or self.origin != "method"}


def find_solver(name: str, *, label: str | None = None, parameters: Mapping[str, Any] | None = None) -> Solver:
    """The solver of that name: one of memetik's methods, a peer, an entry point, or "path/to/adapter.py:Class".

    A peer that is not installed raises MissingPeerError with the command that installs it.
    """
    parameters = dict(parameters or {})
    if label is None:
        text = ", ".join(f"{key}={value}" for key, value in parameters.items())
        label = f"{name} ({text})" if text else name
    if is_method(name):
        method_with(name, parameters)  # wrong parameters are told here, not by the worker
        command = Command(sys.executable, str(ADAPTERS / "ours.py"), "Ours")
        return Solver(name, name, label, "method", command, True, True, {"method": name, **parameters})
    if name in PEERS:
        return _of_file(name, name, label, "peer", python_of(PEERS[name]), *_adapter_file(PEERS[name]), parameters)
    path, _, kind = name.rpartition(":")
    if path.endswith(".py"):
        if not Path(path).is_file():
            raise InvalidInputError(f"there is no adapter file {path!r}.")
        return _of_file(
            name, kind, label if label != name else kind, "user", sys.executable, Path(path), kind, parameters
        )
    if name.endswith(".py"):
        raise InvalidInputError(f"name the adapter's class too: {name}:MyAdapter.")
    points = entry_points()
    if name in points:
        module, _, kind = points[name].partition(":")
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None or found.origin is None:
            raise InvalidInputError(f"the module {module!r} of adapter {name!r} is not found.")
        made = _of_file(name, name, label, "user", sys.executable, Path(found.origin), kind, parameters)
        return replace(made, command=Command(sys.executable, module, kind))
    raise UnknownNameError("solver", name, "memetik's benchmark", solver_names())


def method_with(name: str, parameters: Mapping[str, Any]) -> Any:
    """A method of memetik with some of its parameters changed."""
    method = method_named(name)
    known = [f.name for f in fields(method)] if is_dataclass(method) else []
    for key in parameters:
        if key not in known:
            raise UnknownNameError("parameter", key, f"method {name!r}", known)
    return replace(cast(Any, method), **parameters) if parameters else method


def is_method(name: str) -> bool:
    """Whether `method=` accepts a name, a saved preset's included."""
    if name in METHODS:
        return True
    if name in PEERS or ":" in name:
        return False
    try:
        method_named(name)
    except MemetikError:
        return False
    return True


def solver_names() -> list[str]:
    """All names that `find_solver` knows."""
    return [*METHODS, *PEERS, *entry_points()]


def entry_points() -> dict[str, str]:
    """Adapters that installed packages name."""
    from importlib import metadata

    return {point.name: point.value for point in metadata.entry_points(group=ENTRY_POINTS)}


def environment_of(peer: Peer) -> Path:
    """The folder of a peer's own environment."""
    base = cache.folder()
    if base is None:
        raise InvalidInputError("peers' environments live in the cache folder, and MEMETIK_CACHE turns it off.")
    return base / "peers" / peer.name


def python_of(peer: Peer) -> str:
    """The Python that has a peer: the one named by MEMETIK_PEER_<NAME>, this one, or that of its own environment."""
    chosen = os.environ.get(f"MEMETIK_PEER_{peer.name.upper().replace('-', '_')}")
    if chosen:
        if not _has_module(chosen, peer.module):
            raise MissingPeerError(f"{chosen!r} does not import {peer.module!r}, which the peer {peer.name!r} needs.")
        return chosen
    if importlib.util.find_spec(peer.module) is not None:
        return sys.executable
    if cache.folder() is not None:
        own = environment_python(environment_of(peer))
        if own.exists() and _has_module(str(own), peer.module):
            return str(own)
    how = f"install it with: memetik bench peers install {peer.name}" if peer.packages else peer.found
    raise MissingPeerError(f"the peer {peer.name!r} is not installed; {how}.")


def environment_python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@lru_cache(maxsize=64)
def _has_module(python: str, module: str) -> bool:
    test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    try:
        return subprocess.run([python, "-c", test], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@lru_cache(maxsize=64)
def version_of(python: str, package: str) -> str:
    """The version of a distribution that a Python has; "" where it has none.

    A run is known by it, so that it must not depend on whether the solver can be imported today.
    """
    if not package:
        return ""
    text = f"from importlib.metadata import version; print(version({package!r}))"
    try:
        done = subprocess.run([python, "-c", text], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _adapter_file(peer: Peer) -> tuple[Path, str]:
    file, _, kind = peer.adapter.partition(":")
    return ADAPTERS / f"{file}.py", kind


def _of_file(
    source: str, name: str, label: str, origin: str, python: str, path: Path, kind: str, parameters: Mapping[str, Any]
) -> Solver:
    """A solver whose adapter is a class in a file; what it wants is read there without running it."""
    facts = class_facts(path, kind)
    command = Command(python, str(path.resolve()), kind)
    return Solver(
        source, name, label, origin, command, bool(facts["whole"]), bool(facts["collision"]), dict(parameters),
        version_of(python, str(facts["package"])),
    )  # fmt: skip


def class_facts(path: Path, kind: str) -> dict[str, Any]:
    """The attributes `package`, `whole` and `collision` of a class in a file that may not be importable here."""
    import ast

    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidInputError(f"the adapter file {str(path)!r} cannot be read: {error}.") from None
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if kind not in classes:
        raise UnknownNameError("adapter class", kind, str(path), classes)
    facts: dict[str, Any] = {"package": "", "whole": False, "collision": False}
    methods = set()
    for node in classes[kind].body:
        if isinstance(node, ast.FunctionDef):
            methods.add(node.name)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            facts.update({t.id: node.value.value for t in node.targets if isinstance(t, ast.Name) and t.id in facts})
    missing = {"prepare", "solve", "close"} - methods
    if missing and not classes[kind].bases:
        raise InvalidInputError(f"adapter {kind!r} in {str(path)!r} lacks {', '.join(sorted(missing))}.")
    return facts
