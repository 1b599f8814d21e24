"""Work shared out: done here one item after the other, or by the workers of a dask cluster.

What is done with an item depends on the item and on a context that all share, on nothing else. The results are
therefore the same wherever it is done, and an item whose worker died is simply done again by another.

A task of the cluster is a few items for one certain worker, which tells each result as soon as it has it. When a worker
is gone, what it had not told yet goes to others: it costs the item that it was at.
"""

from __future__ import annotations

import logging
import pickle
import queue
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import memetik
from memetik.errors import InvalidInputError, MemetikError, MissingExtraError

LOCAL = "local"
"""The address that stands for a cluster of processes on this machine."""

CONNECT_SECONDS = 10.0

MOST_TOGETHER = 64
"""Items in a task, at most, where nobody says how many."""

TASKS_EACH = 32
"""Tasks for each worker that items are made into where there are enough: the last ones then end at about one time."""

AHEAD = 8
"""Items that wait at a worker, but at least a task: it never waits for the next one, and little is lost on a stop."""

LOOK_SECONDS = 0.5
"""How often is looked who is still there."""

LONELY_SECONDS = 300.0
"""How long the work waits for a worker to come back when all are gone; on a busy machine one starts in minutes."""

DEATHS = 3
"""Workers that may end at the same item."""

TOLD_BYTES = 4096
"""Results up to this size are told at once. Schedulers keep the last ten thousand; larger ones come with their task."""

TOPIC = "memetik-results"


class Workers:
    """Whoever does the work: this process (client None), or a cluster.

    Made by `workers`.
    """

    def __init__(self, client: Any = None):
        self._client = client
        self._inboxes: dict[str, queue.SimpleQueue[Any]] = {}
        if client is not None:
            client.subscribe_topic(TOPIC, self._receive)

    @property
    def count(self) -> int:
        """How many items are worked on at a time."""
        if self._client is None:
            return 1
        return max(1, sum(self._client.nthreads().values()))

    def everywhere(self, function: Callable[[], Any]) -> list[Any]:
        """What a function of a module returns on each worker."""
        return [function()] if self._client is None else list(self._client.run(function).values())

    def run(
        self,
        function: Callable[[Any, Any], Any],
        context: Any,
        items: Sequence[Any],
        *,
        together: int | Sequence[int] | None = None,
    ) -> Generator[tuple[int, Any]]:
        """Yields (k, function(context, items[k])) for all k, as they come.

        function, context and items must pickle for a cluster; `function` is one of a module.
        together: how many items make one task there, or how many each task has in turn; None for what suits their
        number. One worker does a task, in order; if it dies, others do what is left of it.
        """
        if self._client is None:
            for k, item in enumerate(items):
                yield k, function(context, item)
            return
        if together is None:
            together = min(max(len(items) // (TASKS_EACH * self.count), 1), MOST_TOGETHER)
        parts = _parts(len(items), together)
        handout = _Handout(self._client, function, context, items, parts)
        self._inboxes[handout.token] = handout.inbox
        try:
            yield from handout.results()
        finally:
            del self._inboxes[handout.token]
            handout.close()

    def collect(
        self,
        function: Callable[[Any, Any], Any],
        context: Any,
        items: Sequence[Any],
        *,
        together: int | Sequence[int] | None = None,
    ) -> list[Any]:
        """All results of `run`, in the order of the items."""
        results: list[Any] = [None] * len(items)
        for k, result in self.run(function, context, items, together=together):
            results[k] = result
        return results

    def _receive(self, event: tuple[float, Any]) -> None:
        token, k, data = event[1]
        inbox = self._inboxes.get(token)
        if inbox is not None:
            inbox.put((k, data))


@dataclass(eq=False)
class _Task:
    """What a worker was given: the future, and the numbers of the items that it has not told yet, in order."""

    worker: str
    future: Any
    missing: dict[int, None]
    begun: bool = False


class _Handout:
    """The items of one `run`: who has which, what came of them, and at which of them workers ended."""

    def __init__(
        self,
        client: Any,
        function: Callable[[Any, Any], Any],
        context: Any,
        items: Sequence[Any],
        parts: Iterator[range],
    ):
        self.token = uuid.uuid4().hex
        self.inbox: queue.SimpleQueue[tuple[int, bytes | None] | None] = queue.SimpleQueue()
        """(k, result) of an item, (k, None) where a task begins with it, or None where one is at its end."""
        self._client, self._function, self._items = client, function, items
        # Each worker gets the context for itself: nothing then waits for data that a dead one had.
        self._context, self._contexts = pickle.dumps(context), dict[str, Any]()
        self._parts, self._again = parts, deque[dict[int, None]]()
        self._threads: dict[str, int] = {}
        self._tasks: dict[str, list[_Task]] = {}
        self._owner: dict[int, _Task] = {}
        self._deaths: Counter[int] = Counter()
        self._left = len(items)
        self._looked = self._company = time.monotonic()

    def results(self) -> Iterator[tuple[int, Any]]:
        if self._left:
            self._look()
        while self._left:
            self._hand_out()
            message = None
            with suppress(queue.Empty):
                message = self.inbox.get(timeout=LOOK_SECONDS)
            match message:
                case None:
                    yield from self._fetched()
                case k, None:
                    if k in self._owner:
                        self._owner[k].begun = True
                case k, data:
                    if self._is_new(k):
                        yield k, pickle.loads(data)
            # First all that is told: some of it may be the last words of a worker.
            if self.inbox.empty() and time.monotonic() - self._looked >= LOOK_SECONDS:
                self._look()

    def close(self) -> None:
        if self._client.status == "running":
            self._client.cancel([*self._futures(), *self._contexts.values()])

    def _futures(self) -> list[Any]:
        return [task.future for tasks in self._tasks.values() for task in tasks]

    def _hand_out(self) -> None:
        """Gives tasks to those who have the least, until all have enough."""
        # A task that comes to the scheduler before the context it needs would be turned away.
        ready = [worker for worker in self._threads if self._contexts[worker].done()]
        while ready:
            worker = min(ready, key=lambda name: len(self._tasks[name]) / self._threads[name])
            own = self._tasks[worker]
            waiting = sum(len(task.missing) for task in own[self._threads[worker] :])
            if len(own) >= 2 * self._threads[worker] and waiting >= AHEAD * self._threads[worker]:
                return
            numbers = list(self._again.popleft()) if self._again else next(self._parts, None)
            if numbers is None:
                return
            if not numbers:  # told after all
                continue
            given = [(k, self._items[k]) for k in numbers]
            future = self._submit(
                worker, _do, self.token, memetik.__version__, self._function, self._contexts[worker], given
            )
            task = _Task(worker, future, dict.fromkeys(numbers))
            own.append(task)
            self._owner.update(dict.fromkeys(numbers, task))

    def _submit(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        future = self._client.submit(function, *arguments, pure=False, workers=[worker], allow_other_workers=False)
        future.add_done_callback(lambda _: self.inbox.put(None))
        return future

    def _is_new(self, k: int) -> bool:
        """Whether a result is the first for its item; it is then no more waited for."""
        task = self._owner.pop(k, None)
        if task is None:
            return False
        self._left -= 1
        del task.missing[k]
        if not task.missing and task.worker in self._tasks:
            self._tasks[task.worker].remove(task)
        return True

    def _fetched(self) -> Iterator[tuple[int, Any]]:
        """What came with tasks that are at their end; raises what they raised."""
        for future in [future for future in self._futures() if future.done()]:
            for k, data in self._returned(future):
                if self._is_new(k):
                    yield k, pickle.loads(data)

    def _returned(self, future: Any) -> list[tuple[int, bytes]]:
        from distributed import CancelledError, KilledWorker

        try:
            return future.result(timeout=LOOK_SECONDS)
        except KilledWorker as error:
            raise MemetikError(_MORTAL.format(f"({error})")) from None
        except CancelledError as error:
            raise _scheduler_gone(error) from None
        except TimeoutError:
            return []  # its worker is gone, as the next look will show
        except OSError as error:
            raise _scheduler_gone(error) from None

    def _look(self) -> None:
        """Who is there; what the dead had left is for others."""
        try:
            self._threads = self._client.nthreads()
        except (OSError, TimeoutError) as error:
            raise _scheduler_gone(error) from None
        self._looked = time.monotonic()
        for worker in self._threads:
            if worker not in self._tasks:
                self._tasks[worker] = []
                self._contexts[worker] = self._submit(worker, pickle.loads, self._context)
        for worker in [name for name in self._tasks if name not in self._threads]:
            self._bury(worker)
        if self._threads:
            self._company = self._looked
        elif self._looked - self._company > LONELY_SECONDS:
            raise MemetikError(
                f"all workers of the cluster are gone, and none came back within {LONELY_SECONDS:g} s; "
                f"{self._left} of {len(self._items)} items are left."
            )

    def _bury(self, worker: str) -> None:
        tasks = self._tasks.pop(worker)
        self._client.cancel([*(task.future for task in tasks), self._contexts.pop(worker)])
        for current in (next(iter(task.missing)) for task in tasks if task.begun):
            self._deaths[current] += 1
            if self._deaths[current] >= DEATHS:
                raise MemetikError(_MORTAL.format(f"(item {current} of {len(self._items)})"))
        self._again.extendleft(task.missing for task in reversed(tasks))


_MORTAL = "the same work ended several workers, one after the other {}; have they enough memory?"


def _scheduler_gone(why: object) -> MemetikError:
    return MemetikError(f"the scheduler of the cluster is not there any more ({why}).")


def _parts(count: int, together: int | Sequence[int]) -> Iterator[range]:
    """The numbers of items, task by task."""
    sizes = [together] * -(-count // max(together, 1)) if isinstance(together, int) else together
    if min(sizes, default=1) < 1 or sum(sizes) < count:
        raise InvalidInputError(f"at least one item makes a task, and tasks have all {count} items, not {together}.")
    begin = 0
    for size in sizes:
        yield range(begin, min(begin + size, count))
        begin += size


@contextmanager
def workers(cluster: str | None = None, count: int | None = None) -> Iterator[Workers]:
    """Workers for the length of a `with` block.

    cluster  None for this process; "local" for processes on this machine; else the address of a dask scheduler,
             such as "tcp://10.0.0.5:8786", whose workers have the same version of memetik installed.
    count    processes of a local cluster; one per core where None.
    """
    if cluster is None:
        yield Workers()
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtraError("distributed", "bench", "a cluster") from None
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        # Workers that die are done without; the scheduler's account of it is for those who ask (memetik -v).
        for name in ("", ".client", ".nanny", ".worker", ".scheduler"):
            logging.getLogger(f"distributed{name}").setLevel(logging.CRITICAL)
    if cluster == LOCAL:
        options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "ERROR"}
        options["scheduler_kwargs"] = {"dashboard_address": "127.0.0.1:0"}  # two at a time do not argue about a port
        with LocalCluster(n_workers=count, **options) as processes, Client(processes) as client:
            yield Workers(client)
        return
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"no dask scheduler answers at {cluster!r} ({error}); start one with `dask scheduler` and give the address "
            f"it prints, or say {LOCAL!r} for processes on this machine."
        ) from None
    with client:
        _check_versions(client, cluster)
        yield Workers(client)


def _check_versions(client: Any, address: str) -> None:
    found = client.run(_version)
    if not found:
        raise InvalidInputError(
            f"the scheduler at {address!r} has no workers; start some with `dask worker {address} --nthreads 1`."
        )
    others = sorted({version for version in found.values() if version != memetik.__version__})
    if others:
        raise InvalidInputError(
            f"workers at {address!r} have memetik {', '.join(others)}, this is {memetik.__version__}: results would "
            f"not be comparable."
        )


def _version() -> str:
    return memetik.__version__


def _do(
    token: str, version: str, function: Callable[[Any, Any], Any], context: Any, items: list[tuple[int, Any]]
) -> list[tuple[int, bytes]]:
    """What a worker does with a task: tells results as soon as it has them, and returns all for whoever missed one."""
    from distributed import get_worker

    if version != memetik.__version__:
        raise InvalidInputError(f"a worker has memetik {memetik.__version__}, not {version} as whoever asks it.")
    worker, results = get_worker(), []
    worker.log_event(TOPIC, [token, items[0][0], None])
    for k, item in items:
        data = pickle.dumps(function(context, item))
        if len(data) <= TOLD_BYTES:
            worker.log_event(TOPIC, [token, k, data])
        results.append((k, data))
    return results
