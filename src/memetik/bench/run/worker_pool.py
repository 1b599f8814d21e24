"""Work in blocks: done by this process, one block after the other, or by the workers of a dask cluster.

What becomes of a block depends on the block and on a context that all blocks share, on nothing else. The results are
therefore the same wherever it is done. A block is one task of the cluster: dask hands it out, gives it to another
worker when its own dies, and gives it up after DEATHS workers. A dead worker costs the block that it was at.
"""

from __future__ import annotations

import itertools
import logging
import math
import pickle
import queue
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import memetik
from memetik.bench.run.machine import usable_cores
from memetik.errors import InvalidInputError, MemetikError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client, Future
    from distributed.security import Security

Context = TypeVar("Context")
Item = TypeVar("Item")
Result = TypeVar("Result")

LOCAL = "local"
"""The address that stands for a cluster of processes on this machine."""

CONNECT_SECONDS = 10.0

MOST_TOGETHER = 64
"""Items in a block, at most, where the caller does not say how many."""

BLOCKS_EACH = 32
"""Blocks for each worker that items are divided into where there are enough: all workers then end at about one time."""

AHEAD = 3
"""Blocks for each worker that dask has at a time; with more than two it keeps those that wait at the scheduler."""

CHECK_SECONDS = 1.0
"""Seconds between checks for live workers while no block ends."""

LONELY_SECONDS = 300.0
"""Seconds that the work waits for a worker to come back when all are gone; on a busy machine one starts in minutes."""

DEATHS = 3
"""Workers of a local cluster that may die at the same block; other schedulers have limits of their own."""


class WorkerPool:
    """Those who do the work: this process, or the workers of a cluster, to which it connects at its first work.

    Made by `worker_pool`. is_local: whether the workers are processes of this machine.
    """

    def __init__(self, connect: Callable[[], Client] | None = None, *, is_local: bool = True):
        self._connect, self.is_local = connect, is_local

    @cached_property
    def client(self) -> Client | None:
        """The connection to the cluster; None where this process does the work."""
        return None if self._connect is None else self._connect()

    @property
    def is_here(self) -> bool:
        """Whether this process does the work itself."""
        return self._connect is None

    @property
    def count(self) -> int:
        """How many blocks are worked on at a time."""
        return 1 if self.client is None else max(1, _threads(self.client))

    def everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """What a function of a module returns on each worker."""
        return [function()] if self.client is None else list(_run_everywhere(self.client, function).values())

    def run(
        self, function: Callable[[Context, Item], Iterable[Result]], context: Context, blocks: Iterable[Item]
    ) -> Generator[tuple[int, Result]]:
        """Yields (k, result) for each result of function(context, block k), for all blocks: as they come in this
        process, and when a block is done on a cluster. For a cluster function, context and blocks must pickle.
        """
        if self.client is not None:
            yield from _run_on_cluster(self.client, function, context, enumerate(blocks))
            return
        for k, block in enumerate(blocks):
            for result in function(context, block):
                yield k, result

    def map(
        self,
        function: Callable[[Context, Item], Result],
        context: Context,
        items: Sequence[Item],
        *,
        together: int | Sequence[int] | None = None,
    ) -> Generator[tuple[int, Result]]:
        """Yields (k, function(context, items[k])) for all k, as they come.

        together: how many items make a block, or how many each block has in turn; None for what suits their number.
        """
        if together is None:
            together = min(max(len(items) // (BLOCKS_EACH * self.count), 1), MOST_TOGETHER)
        parts = _parts(len(items), together)
        numbers = [iter(part) for part in parts]
        blocks = ([items[k] for k in part] for part in parts)
        with closing(self.run(_each, (function, context), blocks)) as results:
            for block, result in results:
                yield next(numbers[block]), result

    def collect(
        self,
        function: Callable[[Context, Item], Result],
        context: Context,
        items: Sequence[Item],
        *,
        together: int | Sequence[int] | None = None,
    ) -> list[Result]:
        """All results of `map`, in the order of the items."""
        found = dict(self.map(function, context, items, together=together))
        return [found[k] for k in range(len(items))]


def _each(work: tuple[Callable[[Context, Item], Result], Context], items: Sequence[Item]) -> Iterator[Result]:
    function, context = work
    return (function(context, item) for item in items)


def _parts(count: int, together: int | Sequence[int]) -> list[range]:
    """The numbers of items, block by block."""
    sizes = [together] * -(-count // max(together, 1)) if isinstance(together, int) else together
    if min(sizes, default=1) < 1 or sum(sizes) < count:
        raise InvalidInputError(f"a block has at least one item, and blocks have all {count} items, not {together}.")
    parts, begin = [], 0
    for size in sizes:
        parts.append(range(begin, min(begin + size, count)))
        begin += size
    return parts


def _run_on_cluster(
    client: Client,
    function: Callable[[Context, Item], Iterable[Result]],
    context: Context,
    blocks: Iterator[tuple[int, Item]],
) -> Iterator[tuple[int, Result]]:
    # The context is the result of a task: where the worker that held it dies, dask makes it again.
    shared = client.submit(pickle.loads, pickle.dumps(context), pure=False)
    finished: queue.SimpleQueue[tuple[Future, list[Result] | Exception]] = queue.SimpleQueue()
    numbers: dict[Future, int] = {}
    company = _Company(client)
    try:
        while True:
            for k, block in itertools.islice(blocks, max(AHEAD * max(company.count, 1) - len(numbers), 0)):
                arguments = (memetik.__version__, function, shared, block)
                future = client.submit(_run_block, *arguments, pure=False, priority=-k)
                numbers[future] = k
                # Results are fetched as soon as they are there: those of a worker that dies would be made again.
                future.add_done_callback(lambda future: finished.put((future, _fetched(future))))
            if not numbers:
                return
            try:
                future, results = finished.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                company.check()
                continue
            if isinstance(results, Exception):
                raise results
            k = numbers.pop(future)
            for result in results:
                yield k, result
            company.check()
    finally:
        if client.status == "running":
            client.cancel([*numbers, shared])


def _run_block(
    version: str, function: Callable[[Context, Item], Iterable[Result]], context: Context, block: Item
) -> list[Result]:
    """What a worker of a cluster does with a block."""
    if version != memetik.__version__:
        raise InvalidInputError(f"a worker has memetik {memetik.__version__}, not {version} as whoever asks it.")
    return list(function(context, block))


def _fetched(future: Future) -> list[Any] | Exception:
    """The results of a block, or why there are none."""
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        many = error.allowed_failures + 1
        return MemetikError(f"the same work ended {many} workers, one after the other; have they enough memory?")
    except (CancelledError, OSError) as error:
        return _scheduler_gone(error)
    except Exception as error:
        return error


def _threads(client: Client) -> int:
    return sum(cast("Mapping[str, int]", client.nthreads()).values())


def _run_everywhere(client: Client, function: Callable[[], Result]) -> Mapping[str, Result]:
    return cast("Mapping[str, Result]", client.run(function))


class _Company:
    """How many workers there are, looked up from time to time."""

    def __init__(self, client: Client):
        self._client, self.count = client, 0
        self._looked = self._last = -math.inf
        self.check()

    def check(self) -> None:
        """Raises where there has been none for too long."""
        now = time.monotonic()
        if now - self._looked < CHECK_SECONDS:
            return
        try:
            self.count = _threads(self._client)
        except (OSError, TimeoutError) as error:
            raise _scheduler_gone(error) from None
        self._last = now if self.count or self._last < 0.0 else self._last
        self._looked = now
        if now - self._last > LONELY_SECONDS:
            raise MemetikError(f"all workers of the cluster are gone, and none came back within {LONELY_SECONDS:g} s.")


def _scheduler_gone(why: BaseException) -> MemetikError:
    return MemetikError(f"the scheduler of the cluster is not there any more ({why}).")


@contextmanager
def worker_pool(
    cluster: str | None = None, count: int | None = None, *, tls: str | PathLike[str] | None = None
) -> Iterator[WorkerPool]:
    """Workers for the length of a `with` block.

    cluster  None for this process; "local" for processes on this machine; else the address of a dask scheduler,
             such as "tls://10.0.0.5:8786", whose workers have the same version of memetik installed.
    count    processes of a local cluster; one per core where None.
    tls      a folder with ca.pem, cert.pem and key.pem: connections are encrypted, and both ends of each show a
             certificate of that authority. Without it, whoever can reach a scheduler can run what he likes there.
    """
    security = None if tls is None else _security(Path(tls))
    if cluster is None:
        yield WorkerPool()
        return
    if cluster != LOCAL and cluster.startswith("tls://") != (tls is not None):
        raise InvalidInputError(
            f"{cluster!r} is asked for {'without' if tls is None else 'with'} certificates; an address tls://host:port "
            "goes with a folder of certificates (--tls), tcp://host:port without."
        )
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("distributed", "bench", "a cluster") from None
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        # Workers that die are done without; the scheduler's account of it is for those who ask (memetik -v).
        for name in ("", ".client", ".nanny", ".worker", ".scheduler"):
            logging.getLogger(f"distributed{name}").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        if cluster == LOCAL:
            yield WorkerPool(lambda: _local_client(stack, count or len(usable_cores()), security))
            return
        try:
            client = stack.enter_context(Client(cluster, timeout=CONNECT_SECONDS, security=security))
        except (OSError, ValueError) as error:
            raise InvalidInputError(
                f"no dask scheduler answers at {cluster!r} ({error}); start one with `dask scheduler` and give the "
                f"address it prints, or say {LOCAL!r} for processes on this machine."
            ) from None
        _check_versions(client, cluster)
        yield WorkerPool(lambda: client, is_local=False)


def _security(folder: Path) -> Security:
    """Certificates of a folder, for all parts of a cluster."""
    try:
        from distributed.security import Security
    except ImportError:
        raise MissingExtraError("distributed", "bench", "a cluster") from None
    authority, certificate, key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
    for file in (authority, certificate, key):
        if not file.is_file():
            raise InvalidInputError(
                f"a folder of certificates has ca.pem, cert.pem and key.pem; {str(file)!r} is missing."
            )
    parts = {f"tls_{part}_{what}": str(file) for part in ("client", "scheduler", "worker")
             for what, file in (("cert", certificate), ("key", key))}  # fmt: skip
    return Security(tls_ca_file=str(authority), require_encryption=True, **parts)


def _local_client(stack: ExitStack, count: int, security: Security | None) -> Client:
    import dask.config
    from distributed import Client, LocalCluster, WorkerPlugin

    class IgnoreInterrupts(WorkerPlugin):
        """Ctrl-C goes to every process of a terminal; whoever started the workers ends them."""

        def setup(self, worker: object) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    patience = f"{LONELY_SECONDS:g}s"
    stack.enter_context(dask.config.set({
        # A block waits at the scheduler, not at a busy worker, whose death would count against it.
        "distributed.scheduler.worker-saturation": 1.0,
        # On a busy machine a worker that died takes longer to start again than the 15 s after which it is given up.
        "distributed.deploy.lost-worker-timeout": patience,
        "distributed.comm.timeouts.connect": patience,
        "distributed.comm.timeouts.tcp": patience,
    }))  # fmt: skip
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "ERROR"}
    # Two clusters at a time must not argue about a port.
    options["scheduler_kwargs"] = {"dashboard_address": "127.0.0.1:0", "allowed_failures": DEATHS - 1}
    if security is not None:
        options |= {"security": security, "protocol": "tls"}
    processes = stack.enter_context(LocalCluster(n_workers=count, **options))
    client = stack.enter_context(Client(processes, security=security))
    client.register_plugin(IgnoreInterrupts())
    return client


def _check_versions(client: Client, address: str) -> None:
    found = _run_everywhere(client, _version)
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
