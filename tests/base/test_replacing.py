"""Replacement of single files: what may not be replaced, and who may read the result."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import ReleaseError


def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    """A file in place of /dev/null would break all programs of the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link"):
        with pytest.raises(ReleaseError, match="is a device or a pipe"), replacing(path):
            pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_private_file_does_not_keep_the_mode_of_the_old_one(
    tmp_path: Path, private: bool, mode: int
) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    with replacing(file, private=private) as temporary:
        if private:  # also while it is written
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("new", encoding="utf-8")
    assert (file.read_text(encoding="utf-8"), stat.S_IMODE(file.stat().st_mode)) == ("new", mode)
