"""A solver's process seen from outside: asked with a deadline and a memory limit, ended when it breaks either."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Solvers are compared on one core: linear algebra must not start threads of its own."""

POLL = 0.02
"""Seconds between looks at the process's memory while it works."""


class SolverFailure(Exception):
    """The process did not answer; `status` is one of the store's: stopped, crashed, memory."""

    def __init__(self, status: str, note: str):
        super().__init__(note)
        self.status, self.note = status, note


@dataclass(frozen=True)
class Command:
    """How a solver's process is started: its Python, the adapter's file or module, and class."""

    python: str
    adapter: str
    name: str


class SolverProcess:
    """One process, started at its first request and anew after a failure.

    core: the core to stay on, or None. memory: bytes that it may use.
    """

    def __init__(self, command: Command, *, core: int | None = None, memory: int = 4_000_000_000):
        self.command, self.core, self.memory = command, core, memory
        self.starts = 0
        self.prepared_for: Any = None
        self.hung_at_first = False
        """Whether its latest start got no answer to the first solve."""
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: Any = None
        self._buffer = b""

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """The answer to a request; SolverFailure where there is none within `deadline` seconds."""
        process = self._process if self.running else self._start()
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            raise self._crashed() from None
        try:
            answer = json.loads(self._line(process, time.monotonic() + deadline, deadline))
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.kill()  # nobody knows which line would be the answer to the next request
            raise SolverFailure("error", "what it sent is no answer")
        return answer

    def close(self) -> None:
        """Ends the process, politely at first."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.write(b'{"do": "close"}\n')
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        if process is not None:
            _end(process)
            assert process.stdout is not None
            process.stdout.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def kill(self) -> None:
        """Ends the process at once, and those that it started."""
        if self._process is not None:
            _end(self._process)
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self.close()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        arguments = [self.command.python, str(WORKER), self.command.adapter, self.command.name]
        if self.core is not None:
            arguments.append(str(self.core))
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            # An interrupt of the terminal is for the runner, which lets targets finish; and what the solver starts is
            # of one group, which ends as a whole.
            start_new_session=True,
            env={**os.environ, **ONE_THREAD},
        )
        self._buffer = b""
        self.starts += 1
        return self._process

    def _line(self, process: subprocess.Popen[bytes], until: float, deadline: float) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = until - time.monotonic()
                if left <= 0.0:
                    self.kill()
                    raise SolverFailure("stopped", f"it gave no answer within {deadline:.3g} s and was ended")
                if selector.select(min(left, POLL)):
                    chunk = os.read(process.stdout.fileno(), 1 << 16)
                    if not chunk:
                        raise self._crashed()
                    self._buffer += chunk
                elif (used := memory_of(process.pid)) > self.memory:
                    self.kill()
                    raise SolverFailure(
                        "memory", f"it used {used / 1e6:.0f} MB, more than the {self.memory / 1e6:.0f} MB allowed"
                    )
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def _crashed(self) -> SolverFailure:
        process, said = self._process, self._last_words()
        code = None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(1.0)
        self.kill()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        return SolverFailure("crashed", f"its process ended {how}" + (f": {said}" if said else ""))

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        with contextlib.suppress(OSError, ValueError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - 2000))
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process, if it has not ended by itself, and what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def memory_of(pid: int) -> int:
    """Bytes of memory that a process and those that it started hold; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        started = [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(memory_of(int(child)) for child in started)
