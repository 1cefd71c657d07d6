"""The published form: a source archive, and a wheel that runs where there is nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parent.parent
MEGABYTES = 8
OTHERS = ("3.14", "3.13", "3.12")


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command; its output is shown if it fails."""
    usual = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR")
    }
    made = subprocess.run(list(map(str, command)), cwd=cwd, env=usual, capture_output=True, text=True)
    assert made.returncode == 0, (command, made.stdout[-2000:], made.stderr[-2000:])
    return made


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Folder of the source archive and of the wheel, which is built from the archive, once for all workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "dist"
    ended = folder.with_suffix(".ended")
    try:
        folder.mkdir()
    except FileExistsError:  # another worker builds, or has built
        while not ended.exists():
            time.sleep(0.5)
        return folder
    try:
        run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    finally:
        ended.touch()
    return folder


def python(version: str) -> str | None:
    """Interpreter of a version of Python, from pyenv (whose programs on PATH may refuse to run) or from PATH."""
    pyenv = Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python{version}")
    return next(map(str, pyenv), None) or shutil.which(f"python{version}")


@pytest.mark.slow
def test_the_archives(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    assert {"hatch_build.py", "kgreason/base/jit.py", "rules/control.vada", "README.md"} <= names
    assert not [name for name in names if "_machine_code" in name or "__pycache__" in name]
    (wheel,) = dist.glob("*.whl")
    assert "-py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    assert wheel.stat().st_size < MEGABYTES * 10**6
    with ZipFile(wheel) as contents:
        code = [name for name in contents.namelist() if name.startswith("kgreason/_machine_code/")]
    assert len(code) > 20


@pytest.mark.slow
@pytest.mark.parametrize("newest", [False, True])
def test_the_wheel_runs_elsewhere(dist: Path, tmp_path: Path, newest: bool) -> None:
    """Install it from a local folder of wheels, outside of the checkout, and run the main job."""
    found = next(filter(None, map(python, OTHERS)), None) if newest else sys.executable
    if found is None:
        pytest.skip(f"none of Python {', '.join(OTHERS)} is there")
    run(found, "-m", "venv", "--without-pip", tmp_path / "env")  # that of this checkout installs there
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip = sys.executable, "-m", "pip", "--python", binaries / "python"
    (wheel,) = dist.glob("*.whl")
    run(*pip, "download", "--quiet", "--dest", tmp_path / "wheels", wheel)
    install = (
        "install",
        "--quiet",
        "--no-compile",
        "--no-index",
        "--find-links",
        tmp_path / "wheels",
        "kgreason",
    )
    run(*pip, *install)
    for name in ("control.vada", "own.csv"):
        shutil.copy(ROOT / "examples" / "ownership" / name, tmp_path)
    made = run(binaries / "kgreason", "anonymize", "--rules", "control.vada", cwd=tmp_path)
    assert "compiling" not in made.stderr
    assert (
        run(
            binaries / "kgreason",
            "verify",
            "release",
            "--rules",
            "control.vada",
            "--mapping",
            "private",
            cwd=tmp_path,
        )
        .stdout.splitlines()[-1]
        .startswith("verdict                  holds")
    )
