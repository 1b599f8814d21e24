"""Work shared out: done here one item after the other, or by the workers of a dask cluster.

What is done with an item depends on the item and on a context that all share, on nothing else. The results are
therefore the same wherever it is done, and an item whose worker died is simply done again by another.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import memetik
from memetik.errors import InvalidInputError, MemetikError, MissingExtraError

LOCAL = "local"
"""The address that stands for a cluster of processes on this machine."""

WORK_AHEAD = 8
"""Tasks per worker that the scheduler holds at a time: enough to keep workers busy, few enough to stop at once."""

CONNECT_SECONDS = 10.0


class Workers:
    """Whoever does the work: this process (client None), or a cluster.

    Made by `workers`.
    """

    def __init__(self, client: Any = None):
        self._client = client

    @property
    def count(self) -> int:
        """How many items are worked on at a time."""
        if self._client is None:
            return 1
        return max(1, sum(self._client.nthreads().values()))

    def run(
        self, function: Callable[[Any, Any], Any], context: Any, items: Sequence[Any], *, together: int = 1
    ) -> Iterator[tuple[int, Any]]:
        """Yields (k, function(context, items[k])) for all k, as they come.

        function, context and items must pickle for a cluster; `function` is one of a module.
        together: how many items make one task there. A worker that dies costs the task it was at.
        """
        if together < 1:
            raise InvalidInputError(f"at least one item makes a task, not {together}.")
        if self._client is None:
            for k, item in enumerate(items):
                yield k, function(context, item)
            return
        yield from self._run_there(function, context, items, together)

    def collect(
        self, function: Callable[[Any, Any], Any], context: Any, items: Sequence[Any], *, together: int = 1
    ) -> list[Any]:
        """All results of `run`, in the order of the items."""
        results: list[Any] = [None] * len(items)
        for k, result in self.run(function, context, items, together=together):
            results[k] = result
        return results

    def _run_there(
        self, function: Callable[[Any, Any], Any], context: Any, items: Sequence[Any], together: int
    ) -> Iterator[tuple[int, Any]]:
        from distributed import KilledWorker, as_completed

        # The context travels as the argument of a task: unlike scattered data it can be made again after a death.
        shared = self._client.submit(pickle.loads, pickle.dumps(context), pure=False)
        starts = iter(range(0, len(items), together))
        running: dict[Any, range] = {}

        def submit_next() -> Any:
            start = next(starts, None)
            if start is None:
                return None
            numbers = range(start, min(start + together, len(items)))
            future = self._client.submit(_do_several, function, shared, [items[k] for k in numbers], pure=False)
            running[future] = numbers
            return future

        first = [future for _ in range(WORK_AHEAD * self.count) if (future := submit_next()) is not None]
        waiting = as_completed(first, with_results=True)
        try:
            for batch in waiting.batches():
                # New work first, so that nobody waits while results are looked at.
                waiting.update([following for _ in batch if (following := submit_next()) is not None])
                for done, results in batch:
                    yield from zip(running.pop(done), results, strict=True)
        except KilledWorker as error:
            raise MemetikError(
                f"the same work ended several workers, one after the other ({error}); have they enough memory?"
            ) from None
        finally:
            self._client.cancel([*running, shared])


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
        for name in ("distributed", "distributed.nanny", "distributed.worker", "distributed.scheduler"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if cluster == LOCAL:
        options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "ERROR"}
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


def _do_several(function: Callable[[Any, Any], Any], context: Any, items: list[Any]) -> list[Any]:
    return [function(context, item) for item in items]
