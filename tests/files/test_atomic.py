"""Files are written whole or not at all, a full disk is a sentence, and a killed process leaves nothing for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memetik.errors import InvalidInputError
from memetik.files.atomic import replacing, temporary_folder, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_an_old_file_survives_what_goes_wrong(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "a.txt", "old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("where", ["missing/a.txt", "a.txt/b.txt"])
def test_a_place_that_takes_no_file_is_named(tmp_path: Path, where: str) -> None:
    (tmp_path / "a.txt").write_text("a file")
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_whole(tmp_path / where, "text")


FULL = """
import resource, signal, sys
from memetik.errors import InvalidInputError
from memetik.files.atomic import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(sys.argv[1], "x" * 5000)
except InvalidInputError as error:
    print(error)
"""


def test_a_disk_that_is_full_is_a_sentence_and_the_old_file_survives(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "a.txt", "old")
    done = run(FULL, path)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stdout
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


KILLED = """
import os, signal, sys
from memetik.files.atomic import replacing, temporary_folder
with replacing(sys.argv[1]) as temporary, temporary_folder() as folder:
    temporary.write_text("half")
    (folder / "half.txt").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_gone_after_the_next_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "a.txt"
    assert run(KILLED, path).returncode == -signal.SIGKILL
    assert len(list((tmp_path / "out").iterdir())) == 1
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    write_whole(path, "new")
    with temporary_folder() as folder:
        assert list((tmp_path / "tmp").iterdir()) == [folder]
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["a.txt"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_a_living_process_holds_stays(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.txt") as held:
        held.write_text("in work")
        assert run("import sys; from memetik.files.atomic import write_whole; write_whole(sys.argv[1], 'b')",
                   tmp_path / "b.txt").returncode == 0  # fmt: skip
        assert held.exists()
    assert (tmp_path / "a.txt").read_text() == "in work"
    assert (tmp_path / "b.txt").read_text() == "b"
    assert os.stat(tmp_path / "a.txt").st_mode & 0o777 == 0o644
