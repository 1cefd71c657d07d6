"""The two folders of a release change together, whenever an interrupt comes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgreason.publication import Folders, staged


class Interrupter:
    """Interrupts at one of the changes to files under a folder."""

    def __init__(self) -> None:
        self.top, self.left = "", -1
        sys.addaudithook(self)  # it stays until Python ends

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if self.left >= 0 and event in CHANGES and self.top in str(given):
            self.left -= 1
            if self.left < 0:
                signal.raise_signal(signal.SIGINT)


CHANGES = {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.utime", "shutil.rmtree"}
INTERRUPTER = Interrupter()


@pytest.fixture
def usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    yield
    signal.signal(signal.SIGINT, before)


def publish(folders: Folders, text: str) -> None:
    with staged(folders) as (release, private):
        (release / "own.csv").write_text(text)
        (release / "rules.vada").write_text('"own.csv"')
        (private / "mapping.csv").write_text(text)


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize("force", [False, True])
def test_both_folders_are_of_one_run_whenever_an_interrupt_comes(tmp_path: Path, force: bool) -> None:
    seen = set()
    for point in range(100):
        top = tmp_path / str(point)
        top.mkdir()
        folders = Folders(top / "release", top / "private", force)
        if force:
            publish(folders, "old")
        INTERRUPTER.top, INTERRUPTER.left = str(top), point
        said = None
        try:
            publish(folders, "new")
        except KeyboardInterrupt as interrupt:
            said = str(interrupt)
        reached, INTERRUPTER.left = INTERRUPTER.left < 0, -1
        files = [top / "release" / "own.csv", top / "private" / "mapping.csv"]
        found = [file.read_text() if file.exists() else None for file in files]
        assert found[0] == found[1], point
        assert {p.name for p in top.iterdir()} == ({"release", "private"} if found[0] else set()), point
        if not reached:
            break
        assert said == (
            f"interrupted; {folders.release} and {folders.private} are written" if found[0] == "new" else ""
        ), point
        seen.add(found[0])
    assert not reached
    assert seen == {"old" if force else None, "new"}


@pytest.mark.usefixtures("usual")
def test_an_error_puts_both_folders_back_although_an_interrupt_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private", force=True)
    publish(folders, "old")
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if target == folders.release and self.name.startswith(".release-"):
            signal.raise_signal(signal.SIGINT)
            raise OSError("no space left")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(Exception, match="no space left"):
        publish(folders, "new")
    assert (folders.release / "own.csv").read_text() == "old"
    assert (folders.private / "mapping.csv").read_text() == "old"
    assert {p.name for p in tmp_path.iterdir()} == {"release", "private"}
