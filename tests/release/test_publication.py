"""The two folders of a release change together, whenever an interrupt comes or the process is killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgreason.base import atomic_files
from kgreason.base.atomic_files import check_settled
from kgreason.base.errors import ReleaseError
from kgreason.release.digests import digests, with_digests
from kgreason.release.publication import Folders, staged


class Interrupter:
    """Interrupts at one of the changes to files under a folder."""

    def __init__(self) -> None:
        self.top, self.left = "", -1
        self.act: Callable[[], object] = lambda: signal.raise_signal(signal.SIGINT)
        sys.addaudithook(self)  # it stays until Python ends

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if self.left >= 0 and event in CHANGES and self.top in str(given):
            self.left -= 1
            if self.left < 0:
                self.act()


CHANGES = {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.utime", "shutil.rmtree", "open"}
INTERRUPTER = Interrupter()


@pytest.fixture
def usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    yield
    signal.signal(signal.SIGINT, before)


def publish(folders: Folders, text: str) -> None:
    with staged(folders) as (release, private):
        (release / "own.csv").write_text(text)
        (private / "mapping.csv").write_text(text)
        for folder in (release, private):
            (folder / "report.json").write_text(with_digests({"format": 1}, digests(folder)))


def found(folders: Folders) -> list[str | None]:
    files = [folders.release / "own.csv", folders.private / "mapping.csv"]
    return [file.read_text() if file.exists() else None for file in files]


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize("force", [False, True])
def test_both_folders_are_of_one_run_whenever_an_interrupt_comes(tmp_path: Path, force: bool) -> None:
    seen = set()
    for point in range(200):
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
        there = found(folders)
        assert there[0] == there[1], point
        assert {p.name for p in top.iterdir()} == ({"release", "private"} if there[0] else set()), point
        if not reached:
            break
        assert said == (
            f"interrupted; {folders.release} and {folders.private} are written" if there[0] == "new" else ""
        ), point
        seen.add(there[0])
    assert not reached
    assert seen == {"old" if force else None, "new"}


# --- kill -9 ------------------------------------------------------------------------------------------------


def killed(folders: Folders, top: Path, point: int) -> bool:
    """Publish in a process that is killed at a change to files, and tell whether it came so far."""
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        return os.WIFSIGNALED(status)
    code = 1
    try:
        INTERRUPTER.act = lambda: os.kill(os.getpid(), signal.SIGKILL)
        INTERRUPTER.top, INTERRUPTER.left = str(top), point
        publish(folders, "new")
        code = 0
    finally:
        os._exit(code)


def count(place: Path, *, force: bool = True) -> int:
    """Number of the changes to files of a run."""
    place.mkdir()
    folders = Folders(place / "release", place / "private", force)
    if force:
        publish(folders, "old")
    INTERRUPTER.top, INTERRUPTER.left = str(place), 10**6
    publish(folders, "new")
    changes, INTERRUPTER.left = 10**6 - INTERRUPTER.left, -1
    return changes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("last", [22, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("apart", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("force", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_next_run_mends_what_a_killed_one_left(
    tmp_path: Path, force: bool, apart: bool, last: int
) -> None:
    """It is killed before each of the last changes to files in turn, those of the exchange among them, or of all."""
    seen, halfway = set(), 0
    for point in range(max(0, count(tmp_path / "counted", force=force) - last), 200):
        top = tmp_path / str(point)
        folders = Folders(top / "release", top / ("secret" if apart else "") / "private", force)
        top.mkdir()
        if force:
            publish(folders, "old")
        reached = killed(folders, top, point)
        before = found(folders)
        if before[0] != before[1] or (force and None in before):
            halfway += 1
            with pytest.raises(ReleaseError, match="was killed before it had replaced both"):
                check_settled(folders.release)
            with pytest.raises(ReleaseError, match="was killed before it had replaced both"):
                check_settled(folders.private)
        only = folders if point % 2 else Folders(folders.release, top / "elsewhere", force)
        said = Folders(only.release, only.private, force=True).check()
        after = found(folders)
        assert after[0] == after[1], point
        assert not force or after[0] in ("old", "new"), point
        assert len(said) >= (before != after), point
        said += Folders(folders.release, folders.private, force=True).check()
        check_settled(folders.release)
        left = {p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_dir() and any(p.iterdir())}
        wanted = {"release", f"{'secret/' * apart}private"} if after[0] else set()
        assert left - {"secret"} == wanted, point
        seen.add(after[0])
        if not reached:
            break
    assert not reached
    assert seen == {"old" if force else None, "new"}
    assert halfway >= 1 + force


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_mending_may_be_killed_as_well(tmp_path: Path) -> None:
    states = []
    for point in range(200):  # all states in which the two folders differ
        top = tmp_path / "a" / str(point)
        top.mkdir(parents=True)
        folders = Folders(top / "release", top / "private", force=True)
        publish(folders, "old")
        reached = killed(folders, top, point)
        if not reached:
            break
        if len(set(found(folders))) > 1 or None in found(folders):
            states.append(top)
    assert len(states) > 1
    for state in states:
        for point in range(100):
            top = tmp_path / "b" / str(point)
            shutil.rmtree(top, ignore_errors=True)
            shutil.copytree(state, top)
            folders = Folders(top / "release", top / "private", force=True)
            for place in top.glob(".private-*/ready"):  # a copy has other inodes
                spaces = [place.parent, next(top.glob(".release-*"))]
                names = ["private/mapping.csv", "release/own.csv"]
                news = [
                    top / name.split("/")[0]
                    if (top / name).exists() and (top / name).read_text() == "new"
                    else space / "new"
                    for space, name in zip(spaces, names, strict=True)
                ]
                place.write_text(str([new.stat().st_ino for new in news]))
            if child := os.fork():
                _, status = os.waitpid(child, 0)
            else:
                try:
                    INTERRUPTER.act = lambda: os.kill(os.getpid(), signal.SIGKILL)
                    INTERRUPTER.top, INTERRUPTER.left = str(top), point
                    folders.check()
                finally:
                    os._exit(0)
            folders.check()
            assert found(folders) == ["new", "new"], (state, point)
            assert {p.name for p in top.iterdir()} == {"release", "private"}
            if not os.WIFSIGNALED(status):
                break


def half_exchanged(top: Path) -> Folders:
    """Folders of a run that was killed when it had replaced one of the two."""
    for point in range(count(top / "counted") - 22, 200):
        here = top / str(point)
        folders = Folders(here / "release", here / "private", force=True)
        here.mkdir()
        publish(folders, "old")
        killed(folders, here, point)
        if found(folders) == ["old", "new"]:
            return folders
    raise AssertionError("no state is between the two")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_what_was_mended_is_told_also_by_a_refusal(tmp_path: Path) -> None:
    folders = half_exchanged(tmp_path)
    with pytest.raises(
        ReleaseError, match=r"was finished: both are of that run now; .*release exists already"
    ):
        Folders(folders.release, folders.private).check()
    assert found(folders) == ["new", "new"]


def test_what_a_run_that_lives_is_writing_stays(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private", force=True)
    with staged(folders) as (release, private):
        assert folders.check() == []
        assert release.is_dir()
        assert private.is_dir()


def test_what_is_put_into_a_folder_meanwhile_is_not_lost(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private", force=True)
    publish(folders, "old")
    with pytest.raises(ReleaseError, match=r"did not write.*\(own notes\.txt\)"), staged(folders):
        (folders.release / "own notes.txt").write_text("mine")
    assert found(folders) == ["old", "old"]
    assert {p.name for p in tmp_path.iterdir()} == {"release", "private"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_an_exchange_is_undone_where_other_files_are_by_now(tmp_path: Path) -> None:
    folders = half_exchanged(tmp_path)
    (folders.release / "own notes.txt").write_text("mine")
    with pytest.raises(ReleaseError, match=r"\(own notes\.txt\)"):
        folders.check()
    assert found(folders) == ["old", "old"]
    (folders.release / "own notes.txt").unlink()
    assert folders.check() == []
    assert {p.name for p in folders.release.parent.iterdir()} == {"release", "private"}


def test_folders_of_others_are_not_taken_for_left_ones(tmp_path: Path) -> None:
    other = tmp_path / ".release-deadbeef"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    assert Folders(tmp_path / "release", tmp_path / "private").check() == []
    assert (other / "mine.txt").read_text() == "mine"


@pytest.mark.usefixtures("usual")
def test_an_error_puts_both_folders_back_although_an_interrupt_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private", force=True)
    publish(folders, "old")
    put = atomic_files.Side.put

    def fail(self: atomic_files.Side, inode: int) -> None:
        if self.target == folders.release:
            signal.raise_signal(signal.SIGINT)
            raise OSError("no space left")
        put(self, inode)

    monkeypatch.setattr(atomic_files.Side, "put", fail)
    with pytest.raises(ReleaseError, match="no space left"):
        publish(folders, "new")
    assert found(folders) == ["old", "old"]
    assert {p.name for p in tmp_path.iterdir() if p.name not in ("one", "other")} == {"release", "private"}


# --- what --force replaces ----------------------------------------------------------------------------------


def test_only_what_was_written_is_replaced(tmp_path: Path) -> None:
    changes: list[tuple[str, Callable[[Path, Path], object], str]] = [
        ("a folder", lambda r, _: ((r / "own.csv").unlink(), (r / "own.csv").mkdir()), "own.csv"),
        ("a link", lambda r, p: ((r / "own.csv").unlink(), (r / "own.csv").symlink_to(p)), "own.csv"),
        ("other content", lambda r, _: (r / "own.csv").write_text("mine"), "own.csv"),
        ("a file more", lambda r, _: (r / "nodes.csv").write_text("mine"), "nodes.csv"),
        ("a secret more", lambda _, p: (p / ".hidden").write_text("mine"), ".hidden"),
        ("no account", lambda r, _: (r / "report.json").unlink(), "does not list"),
        ("another account", lambda r, _: (r / "report.json").write_text("[]"), "does not list"),
        (
            "an edited account",
            lambda r, _: (r / "report.json").write_text((r / "report.json").read_text() + "\n"),
            "report.json",
        ),
    ]
    for name, change, words in changes:
        folders = Folders(tmp_path / name / "release", tmp_path / name / "private", force=True)
        publish(folders, "old")
        change(folders.release, folders.private)
        before = {p: p.read_bytes() if p.is_file() else None for p in (tmp_path / name).rglob("*")}
        with pytest.raises(ReleaseError) as refused:
            publish(folders, "new")
        assert words in str(refused.value), name
        assert {p: p.read_bytes() if p.is_file() else None for p in (tmp_path / name).rglob("*")} == before
    folders = Folders(tmp_path / "release", tmp_path / "private", force=True)
    for place in (folders.release, folders.private):
        place.mkdir()  # nothing is in there
    publish(folders, "new")
    publish(folders, "newer")
    assert found(folders) == ["newer", "newer"]
