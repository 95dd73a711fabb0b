"""A file is replaced as a whole, or stays as it is."""

import os
import stat

import pytest

from skpriv.utils import _files
from skpriv.utils._files import PendingFile, replace_whole


def test_content_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file"
    replace_whole(path, b"first, and longer")
    replace_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["file"]


def test_permissions_of_the_file_are_kept(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_whole(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_failure_leaves_the_file_and_the_folder_as_they_were(
    tmp_path, monkeypatch, fails
):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(_files.os, fails, full)
    with pytest.raises(OSError, match="No space left"):
        replace_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_content_does_not_show_before_it_is_committed(tmp_path):
    path = tmp_path / "file"
    pending = PendingFile(path)
    pending.write(b"content")
    assert not path.exists()
    pending.commit()
    assert path.read_bytes() == b"content"
    pending.discard()
    assert path.exists()


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        PendingFile(tmp_path / "none" / "file")
