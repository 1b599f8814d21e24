"""A store of solved poses: seeds for poses near them, the same answer for the same pose."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.files import replacing
from memetik.goals.base import Kind
from memetik.scene.cache import digest
from memetik.solve.methods import method_named
from memetik.solve.methods.checks import Count, Natural, NotNegative
from memetik.solve.methods.delegate import run_part
from memetik.solve.methods.method import Search

if TYPE_CHECKING:
    from memetik.solve.methods.task import Task
    from memetik.solve.problem import Problem

SAME = 1e-12
"""Distance of targets below which they are one."""

GROWTH = 256
_FORMAT = 1


class PoseStore:
    """Postures by what was asked: a table for each robot and kind of goals. Any thread may use it."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}
        self._lock = threading.Lock()

    def nearest(self, key: str, asked: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances (k,) and postures (k, dof) of the at most `count` entries nearest to what is asked."""
        with self._lock:
            table = self._tables.get(key)
            if table is None or not table.count:
                return np.empty(0), np.empty((0, 0))
            distance = np.linalg.norm(table.asked[: table.count] - asked, axis=1)
            order = np.argsort(distance, kind="stable")[:count]
            return distance[order], table.postures[order].copy()

    def add(self, key: str, asked: np.ndarray, posture: np.ndarray, most: int) -> None:
        """Keeps an answer; beyond `most` the oldest of its table goes."""
        with self._lock:
            self._tables.setdefault(key, _Table(len(asked), len(posture))).add(asked, posture, most)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all of it to a file (.npz), whole or not at all."""
        with self._lock:
            arrays: dict[str, np.ndarray] = {"format": np.array(_FORMAT), "keys": np.array(sorted(self._tables))}
            for k, key in enumerate(sorted(self._tables)):
                table = self._tables[key]
                arrays[f"asked_{k}"], arrays[f"postures_{k}"] = (
                    table.asked[: table.count],
                    table.postures[: table.count],
                )
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
                return _store_of({key: (file[f"asked_{k}"], file[f"postures_{k}"]) for k, key in enumerate(keys)})
        except FileNotFoundError:
            raise InvalidInputError(f"there is no pose store at {path}.") from None
        except (KeyError, ValueError, OSError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"{path} is no pose store: {error}.") from None

    def __reduce__(self) -> Any:
        if self is SHARED:
            return "SHARED"
        with self._lock:
            return _store_of, ({key: (t.asked[: t.count], t.postures[: t.count]) for key, t in self._tables.items()},)

    def __len__(self) -> int:
        return sum(table.count for table in self._tables.values())

    def __repr__(self) -> str:
        return f"<PoseStore of {len(self)} postures>"


SHARED = PoseStore()
"""What method="cached" uses, for the life of the process."""


@dataclass(frozen=True)
class Cached(Search):
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

    def search(self, task: Task, start: np.ndarray) -> None:
        key, asked = what_is_asked(task)
        distances, postures = self.store.nearest(key, asked, max(self.neighbours, 1))
        columns = task.problem._core.variables
        if len(distances) and distances[0] < SAME:
            task.spend(1)
            if self._repeat(task, postures[0][columns]):
                return
        for distance, posture in zip(distances, postures, strict=True):
            if SAME <= distance <= self.radius and run_part(
                self.method, task, task.clip(posture[columns]), np.inf, self.tries
            ):
                break
        else:
            run_part(self.method, task, start)
        if task.answers:
            self.store.add(key, asked, task.answers[0][0], self.size)

    def _repeat(self, task: Task, x: np.ndarray) -> bool:
        """Offers an answer of before, and gives it as it was: not on the turn that is nearest to the seed."""
        accepted = task.offer(x)
        if accepted and (x == task.clip(x)).all():
            _, errors, cost, variables = task.answers[-1]
            task.answers[-1] = (task.full(x), errors, cost, variables)
        return accepted


ROTATION_SCALE = 0.3
"""Metres that an entry of a rotation matrix counts in the distance of targets."""

_TURNED = (Kind.POINT, Kind.ROTATION, Kind.ROTATION_RANGE, Kind.SWING_RANGE, Kind.TWIST)
"""Terms whose data begins with a rotation matrix."""


def what_is_asked(task: Task) -> tuple[str, np.ndarray]:
    """The kind of a task's musts on its robot as a name, and the numbers in their targets."""
    statement = task.statement
    kinds = [(int(t.kind), t.frame, t.reference, t.goal, *t.entries) for t in statement.terms]
    places = [(link, placement.tobytes().hex()) for link, placement in statement.points]
    base = "" if task.base is None else np.asarray(task.base).tobytes().hex()
    robot = task.problem.robot.content_digest.hex()
    key = digest([robot, repr(kinds), repr(places), repr(sorted(statement.held)), base])
    numbers = []
    for term in statement.terms:
        data = np.nan_to_num(term.data, posinf=0.0, neginf=0.0)
        scale = np.ones(len(data))
        if term.kind in _TURNED:
            scale[:9] = ROTATION_SCALE
        numbers.append(scale * data)
    return key, np.concatenate(numbers)


def _store_of(tables: dict[str, tuple[np.ndarray, np.ndarray]]) -> PoseStore:
    store = PoseStore()
    for key, (asked, postures) in tables.items():
        table = _Table(asked.shape[1], postures.shape[1])
        table.asked, table.postures, table.count = np.array(asked), np.array(postures), len(asked)
        store._tables[key] = table
    return store


class _Table:
    """Rows of what was asked and what was answered, in the order in which they came."""

    def __init__(self, asked: int, posture: int):
        self.asked, self.postures = np.empty((GROWTH, asked)), np.empty((GROWTH, posture))
        self.count = 0

    def add(self, asked: np.ndarray, posture: np.ndarray, most: int) -> None:
        if self.count and (np.linalg.norm(self.asked[: self.count] - asked, axis=1) < SAME).any():
            return
        while self.count >= most:
            self.asked[: self.count - 1] = self.asked[1 : self.count]
            self.postures[: self.count - 1] = self.postures[1 : self.count]
            self.count -= 1
        if self.count == len(self.asked):
            self.asked = np.vstack([self.asked, np.empty((GROWTH, len(asked)))])
            self.postures = np.vstack([self.postures, np.empty((GROWTH, len(posture)))])
        self.asked[self.count], self.postures[self.count] = asked, posture
        self.count += 1
