"""Checks a built sdist: it holds what the repository holds, a wheel can be built from it, and its tests are found.

Called by ``check_wheel.py``. Needs ``build``, ``hatchling`` and ``pytest`` beside the standard library.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADDED = {"PKG-INFO"}  # by the build

Run = Callable[[Path, list[str]], str]
"""Runs a command that must succeed in a folder; returns what it printed."""


def check_sdist(sdist: Path, wheel: Path, run: Run) -> None:
    """Check an sdist, and that it makes the same wheel as the repository."""
    with tempfile.TemporaryDirectory(prefix="check-sdist-") as scratch:
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        (folder,) = Path(scratch).iterdir()
        check_files(folder)
        run(folder, [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", f"{scratch}/made"])
        check_same_wheel(next(Path(scratch, "made").glob("*.whl")), wheel)
        found = run(folder, [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"])
    print(f"{sdist.name}: all well; {found.splitlines()[-1].strip('= ')}")


def check_files(folder: Path) -> None:
    """The files that git knows, each as it lies in the checkout, and nothing else; a tree without git is no measure."""
    if not (ROOT / ".git").exists():
        print("the files of the sdist are not compared with the repository's: this tree is none")
        return
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    expected = {name for name in listed.stdout.split("\0") if name}
    held = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - ADDED
    if missing := sorted(expected - held):
        sys.exit(f"the sdist lacks files of the repository: {missing}")
    if unexpected := sorted(held - expected):
        sys.exit(f"the sdist holds files that the repository lacks: {unexpected}")
    if changed := sorted(name for name in held if (folder / name).read_bytes() != (ROOT / name).read_bytes()):
        sys.exit(f"the sdist holds other versions of {changed}")


def check_same_wheel(made: Path, wheel: Path) -> None:
    """Two wheels hold the same files."""
    one, other = ({info.filename: info.CRC for info in zipfile.ZipFile(path).infolist()} for path in (made, wheel))
    if differing := sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)):
        sys.exit(f"the wheel that the sdist makes differs from {wheel.name} in {differing}")
