"""A store of solved poses: seeds for poses near them, the same answer for the same pose."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from memetik._core import TargetPart, term_traits
from memetik.errors import InvalidInputError
from memetik.files.atomic import replacing
from memetik.geometry.cache import digest
from memetik.solve.literature.delegate import run_part
from memetik.solve.methods import method_named
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Count, Natural, NotNegative
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

SAME = 1e-12
"""Distance of targets below which they are one."""

_FORMAT = 1

Table = tuple[np.ndarray, np.ndarray]
"""Rows of what was asked, or of distances to it, and the configurations (N, dof) that answer them; the oldest first."""


class PoseStore:
    """Configurations by what was asked: a table for each robot and kind of goals. Any thread may use it."""

    def __init__(self, tables: Mapping[str, Table] = MappingProxyType({})) -> None:
        self._tables = dict(tables)
        self._lock = threading.Lock()

    def nearest(self, key: str, asked: np.ndarray, count: int) -> Table:
        """Distances (k,) and configurations (k, dof) of the at most `count` entries nearest to what is asked."""
        with self._lock:
            known, configurations = self._tables.get(key, (np.empty((0, len(asked))), np.empty((0, 0))))
        distance = np.linalg.norm(known - asked, axis=1)
        order = np.argsort(distance, kind="stable")[:count]
        return distance[order], configurations[order]

    def add(self, key: str, asked: np.ndarray, configuration: np.ndarray, most: int) -> None:
        """Keeps an answer; beyond `most` the oldest of its table goes."""
        with self._lock:
            known, answers = self._tables.get(key, (asked[None][:0], configuration[None][:0]))
            if not (np.linalg.norm(known - asked, axis=1) < SAME).any():
                self._tables[key] = np.vstack([known, asked])[-most:], np.vstack([answers, configuration])[-most:]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all of it to a file (.npz), whole or not at all."""
        with self._lock:
            arrays: dict[str, np.ndarray] = {"format": np.array(_FORMAT), "keys": np.array(sorted(self._tables))}
            for k, key in enumerate(sorted(self._tables)):
                arrays[f"asked_{k}"], arrays[f"postures_{k}"] = self._tables[key]
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PoseStore:
        """Reads what `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if int(file["format"]) != _FORMAT:
                    raise InvalidInputError(f"{path} is a pose store of format {int(file['format'])}, not {_FORMAT}.")
                keys = file["keys"].tolist()
                return cls({key: (file[f"asked_{k}"], file[f"postures_{k}"]) for k, key in enumerate(keys)})
        except FileNotFoundError:
            raise InvalidInputError(f"there is no pose store at {path}.") from None
        except (KeyError, ValueError, OSError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"{path} is no pose store: {error}.") from None

    def __reduce__(self) -> Any:
        with self._lock:
            return "SHARED" if self is SHARED else (PoseStore, (dict(self._tables),))

    def __len__(self) -> int:
        return sum(len(asked) for asked, _ in self._tables.values())

    def __repr__(self) -> str:
        return f"<PoseStore of {len(self)} configurations>"


SHARED = PoseStore()
"""What method="cached" uses, for the life of the process."""


@dataclass(frozen=True)
class Cached(PythonMethod):
    """Solved poses are remembered, as MoveIt's cached_ik plugin does and the tool chain of Mühlbacher wished.

    What was asked before gets the answer that it got before, checked again. What is near to it, by the numbers in the
    targets, is solved from the answers of its `neighbours`, nearest first, each for `tries` evaluations at most; then
    from the seed. Every answer found is kept: it depends on what was solved before, so that only a store of one's own,
    filled in a certain order, gives the same answers again.

    method      what solves from the seeds.
    store       where answers are kept. The default is shared by the process; PoseStore.load and save keep one on disk.
    neighbours  how many answers are seeds.
    radius      distance of targets (metres, and 0.3 m for each entry of a rotation) beyond which they are none.
    tries       evaluations from each of them.
    size        answers kept for one kind of goals on one robot.
    """

    method: Any = "memetic"
    store: PoseStore = field(default_factory=lambda: SHARED, compare=False)
    neighbours: Natural = 2
    radius: NotNegative = 0.3
    tries: Count = 200
    size: Count = 20_000

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "method", method_named(self.method))
        if not isinstance(self.store, PoseStore):
            raise InvalidInputError(f"store of Cached is an mk.methods.PoseStore, not {self.store!r}.")

    def check(self, problem: Problem) -> None:
        self.method.check(problem)

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        key, asked = what_is_asked(task)
        distances, configurations = self.store.nearest(key, asked, max(self.neighbours, 1))
        columns = task.problem.core.variables
        if len(distances) and distances[0] < SAME:
            task.spend(1)
            if self._repeat(task, configurations[0][columns]):
                return
        for distance, q in zip(distances, configurations, strict=True):
            is_near = SAME <= distance <= self.radius
            if is_near and run_part(self.method, task, task.clip(q[columns]), np.inf, self.tries):
                break
        else:
            run_part(self.method, task, start)
        if task.answers:
            self.store.add(key, asked, task.answers[0][0], self.size)

    def _repeat(self, task: SearchTask, x: np.ndarray) -> bool:
        """Offers an answer of before, and gives it as it was: not on the turn that is nearest to the seed."""
        accepted, valid = task.submit(x), task.instance.valid
        if accepted and (x == task.clip(x)).all() and (valid is None or bool(valid(task.full(x)))):
            _, errors, cost, variables = task.answers[-1]
            task.answers[-1] = (task.full(x), errors, cost, variables)
        return accepted


ROTATION_SCALE = 0.3
"""Metres that an entry of a rotation matrix counts in the distance of targets."""


def what_is_asked(task: SearchTask) -> tuple[str, np.ndarray]:
    """The kind of a task's hard goals on its robot as a name, and the numbers in their targets."""
    hard = task.hard_terms
    specs = [term.spec for term in hard.terms]
    kinds = [(int(t.kind), t.frame, t.reference, t.goal, *t.entries) for t in specs]
    places = [(frame.link, frame.placement.tobytes().hex()) for frame in hard.frames]
    base = "" if task.base is None else np.asarray(task.base).tobytes().hex()
    robot = task.problem.robot.content_digest.hex()
    key = digest([robot, repr(kinds), repr(places), repr(sorted(hard.held)), base])
    numbers = []
    for spec in specs:
        data = np.nan_to_num(spec.data, posinf=0.0, neginf=0.0)
        scale = np.ones(len(data))
        traits = term_traits(spec.kind)
        if traits.target in (TargetPart.rotation, TargetPart.pose):
            scale[traits.target_at : traits.target_at + 9] = ROTATION_SCALE
        numbers.append(scale * data)
    return key, np.concatenate(numbers)
