"""Peers' own environments: made in the cache folder by venv and pip, and asked what they hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memetik.bench.peers.registry import (
    PEERS,
    MissingPeerError,
    Peer,
    environment_of,
    environment_python,
    python_of,
    version_of,
)
from memetik.errors import InvalidInputError, MemetikError, UnknownNameError


def peer_states() -> list[dict[str, Any]]:
    """For each peer its name, state ("here", "own environment" or "missing"), version, Python and a summary."""
    return [_state(peer) for peer in PEERS.values()]


def install(names: Sequence[str], say: Callable[[str], None] = lambda text: None) -> list[dict[str, Any]]:
    """Makes an environment for each peer and installs it there; one that exists is brought up to date.

    "all" stands for all peers that pip has and that are not there yet.
    """
    chosen: list[Peer] = []
    for name in names:
        if name == "all":
            chosen += [peer for peer in PEERS.values() if peer.packages and _state(peer)["state"] == "missing"]
        elif name not in PEERS:
            raise UnknownNameError("peer", name, "memetik's benchmark", PEERS)
        else:
            chosen.append(PEERS[name])
    for peer in chosen:
        if not peer.packages:
            raise InvalidInputError(f"pip does not have the peer {peer.name!r}: {peer.found}.")
    for peer in chosen:
        say(f"installing {', '.join(peer.packages)} ...")
        _install(peer)
    return [_state(peer) for peer in chosen]


def _install(peer: Peer) -> None:
    folder = environment_of(peer)
    if not environment_python(folder).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Made beside and renamed when complete: an environment that is there has its peer. Scripts inside would name
        # the old place, but its Python does not.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{peer.name}-") as beside:
            made = Path(beside) / peer.name
            _run([sys.executable, "-m", "venv", str(made)], f"no environment can be made for {peer.name!r}")
            _pip(made, peer)
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(made, folder)
    else:
        _pip(folder, peer)


def _pip(folder: Path, peer: Peer) -> None:
    python = str(environment_python(folder))
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "numpy"]
    _run([*command, *peer.packages], f"pip cannot install {', '.join(peer.packages)}")


def _run(command: list[str], problem: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("WARNING")]
        raise MemetikError(f"{problem}: {lines[-1] if lines else f'code {done.returncode}'}")


def _state(peer: Peer) -> dict[str, Any]:
    try:
        python = python_of(peer)
    except MissingPeerError:
        state = "missing" if peer.packages else "not found"
        return {"name": peer.name, "state": state, "version": "", "python": None, "summary": peer.summary,
                "get": f"memetik bench peers install {peer.name}" if peer.packages else peer.found}  # fmt: skip
    state = "here" if python == sys.executable else "own environment"
    return {"name": peer.name, "state": state, "version": version_of(python, peer.packages[0] if peer.packages else ""),
            "python": python, "summary": peer.summary, "get": ""}  # fmt: skip
