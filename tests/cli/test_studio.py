"""`memetik studio`: it prints its address, serves, and ends when told to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import memetik as mk
from memetik.studio.session.session import Session

COMMAND = [sys.executable, "-m", "memetik.cli", "studio"]


def start(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments, "--port", "0", "--no-browser"], cwd=folder, text=True, stdout=subprocess.PIPE
    )


def test_it_prints_its_address_serves_and_ends(tmp_path: Path) -> None:
    studio = start("ur5", folder=tmp_path)
    try:
        assert studio.stdout is not None
        line = studio.stdout.readline()
        assert line.startswith("memetik studio: http://localhost:")
        page = urllib.request.urlopen(line.split(": ", 1)[1].strip(), timeout=600)
        assert page.status == 200
    finally:
        studio.send_signal(signal.SIGTERM)
        assert studio.wait(timeout=600) == 0


def test_a_saved_setup_and_a_scene_are_opened(tmp_path: Path) -> None:
    Session("iiwa14").save(tmp_path / "cell.json")
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 0.1, 0.1), mk.transform((1.0, 0.0, 0.0)))
    scene.save(tmp_path / "cell.toml")
    studio = start("cell.json", "--scene", "cell.toml", "--json", folder=tmp_path)
    try:
        assert studio.stdout is not None
        printed = ""
        while not printed.rstrip().endswith("}"):
            printed += studio.stdout.readline()
        told = json.loads(printed)
        assert told["schema"] == "memetik.studio/1"
        assert told["robot"] == "iiwa14"
    finally:
        studio.send_signal(signal.SIGINT)
        assert studio.wait(timeout=600) == 0


def test_what_cannot_be_opened_is_told_in_a_line(tmp_path: Path) -> None:
    for arguments, words in (
        (("nobody",), "nobody"),
        (("panda", "--host", "0.0.0.0"), "only with a token"),
        (("panda", "--token", "short"), "at least 8"),
        (("panda", "--scene", "gone.toml"), "gone.toml"),
        (("gone.json",), "gone.json"),
    ):
        run = [*COMMAND, *arguments, "--port", "0", "--no-browser"]
        ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert ended.returncode == 2
        assert words in ended.stderr
        assert "Traceback" not in ended.stderr
