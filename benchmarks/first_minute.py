"""Seconds of a newcomer's first commands: ``python benchmarks/first_minute.py``.

Makes a copy of the checkout and a fresh virtual environment, with nothing cached but pip's downloads, and runs there
the README's first command, part by part. Then each command runs for the first time in a copy of the environment as it
was after the installation, and again. ``--without`` deletes the machine code that the installation has made: kernels
are compiled at their first use. ``--against COMMIT`` does the same with another version, for comparison.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path
from statistics import median

from reasoner import cpu

ROOT = Path(__file__).resolve().parent.parent
PIP = subprocess.check_output([sys.executable, "-m", "pip", "cache", "dir"], text=True).strip()
RULES = ("--rules", "examples/ownership/control.vada")
COMMANDS = {
    "reason": ("reason", *RULES),
    "anonymize": ("anonymize", *RULES),
    "verify": ("verify", "release", *RULES, "--mapping", "private"),
    "risk": ("risk", *RULES),
    "people anonymize": ("people", "anonymize", "examples/people/people.toml", "-k", "3", "--force"),
    "links anonymize": (
        *("links", "anonymize", "examples/school/school.toml", "--sensitive", "friends"),
        *("--strategy", "cluster-edge", "--force"),
    ),
}


def seconds(command: list[str | Path], cwd: Path, home: Path) -> float:
    """Seconds of a command, which must succeed."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    usual.pop("NUMBA_CACHE_DIR", None)
    begun = time.perf_counter()
    made = subprocess.run(
        command,
        cwd=cwd,
        env={**usual, "XDG_CACHE_HOME": str(home), "PIP_CACHE_DIR": PIP},
        capture_output=True,
        text=True,
    )
    took = time.perf_counter() - begun
    if made.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{made.stdout}{made.stderr}")
    return took


def copy(commit: str, folder: Path) -> None:
    """Copy the files of a commit, or of the checkout as it is."""
    if commit:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        return
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for file in (ROOT / name for name in names if name):
        if file.is_file():
            place = folder / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)


def measured(commit: str, without: bool, repeats: int, folder: Path) -> dict[str, tuple[float, float | None]]:
    """Seconds of each command: for the first time, and again."""
    source, env, pristine, cache = (
        folder / name for name in ("kgreason", "kgreason/.venv", "pristine", "cache")
    )
    source.mkdir()
    copy(commit, source)
    block = (source / "README.md").read_text(encoding="utf-8").partition("```sh\n")[2]
    install = block.partition("\n")[0]
    result: dict[str, tuple[float, float | None]] = {}
    result["install"] = seconds(["bash", "-euc", install], source, cache), None
    if without:
        shutil.rmtree(next(env.glob("lib/python*/site-packages/kgreason/_machine_code")))
    shutil.copytree(env, pristine, symlinks=True)
    for name, arguments in COMMANDS.items():
        shutil.rmtree(env)
        shutil.copytree(pristine, env, symlinks=True)
        shutil.rmtree(cache, ignore_errors=True)
        command: list[str | Path] = [env / "bin" / "kgreason", *arguments]
        first = seconds(command, source, cache)
        again = [*command, "--force"] if "anonymize" in name else command
        result[name] = first, median(seconds(again, source, cache) for _ in range(repeats))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--without", action="store_true", help="delete the machine code after the installation"
    )
    parser.add_argument("--against", metavar="COMMIT", help="another version")
    parser.add_argument("--repeats", type=int, default=3, help="runs after the first one (3)")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {cpu()}, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    versions = {"this version": "", **({options.against: options.against} if options.against else {})}
    tables = {}
    for title, commit in versions.items():
        with tempfile.TemporaryDirectory() as folder:
            tables[title] = measured(commit, options.without and not commit, options.repeats, Path(folder))
    heads = [f"{title}: {run}, s" for title in versions for run in ("first", "again")]
    print(f"| command | {' | '.join(heads)} |\n|{'---|' * (1 + len(heads))}")
    names = ["install", *COMMANDS]
    rows = {name: [table[name] for table in tables.values()] for name in names}
    rows["README: install, anonymize"] = [
        (t["install"][0] + t["anonymize"][0], None) for t in tables.values()
    ]
    for name, cells in rows.items():
        numbers = ["" if value is None else f"{value:.1f}" for cell in cells for value in cell]
        print(f"| {name} | {' | '.join(numbers)} |")
    print(f"first: a single run; again: medians of {options.repeats}")


if __name__ == "__main__":
    main()
