"""Reports as JSON and CSV, in files that are whole or not there."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from skpriv.report import OutputError, OutputFiles, to_json, to_scores_csv


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_appear_when_the_work_is_done(tmp_path):
    a, b = tmp_path / "a.json", tmp_path / "b.csv"
    b.write_text("old")
    with OutputFiles([a, str(b)]) as files:
        files.write(a, "new é\n")
        files.write(str(b), "new")
        assert not a.exists()
        assert b.read_text() == "old"
    assert a.read_bytes() == "new é\n".encode()
    assert b.read_text() == "new"
    assert names(tmp_path) == ["a.json", "b.csv"]


@pytest.mark.parametrize("reason", [ValueError, KeyboardInterrupt])
def test_work_that_fails_leaves_old_files_and_no_new_ones(tmp_path, reason):
    a, b = tmp_path / "a", tmp_path / "b"
    b.write_text("old")

    def work():
        with OutputFiles([a, b]) as files:
            files.write(a, "new")
            files.write(b, "new")
            raise reason

    with pytest.raises(reason):
        work()
    assert names(tmp_path) == ["b"]
    assert b.read_text() == "old"


def open_outputs(*paths, inputs=()):
    with OutputFiles(paths, inputs):
        raise AssertionError("the work was begun")


def test_unusable_outputs_are_refused_before_the_work(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("in.csv")
    good, data = tmp_path / "good", tmp_path / "in.csv"
    data.write_text("data")
    for bad, fault in [
        (tmp_path / "none" / "a", "there is no folder"),
        (data / "a", "there is no folder"),
        (tmp_path / "folder", "is a folder or a device"),
        ("/dev/null", "is a folder or a device"),
        (good, "is given for two outputs"),
        (data, "is the input"),
        (tmp_path / "link", "is the input"),
        (tmp_path / ("n" * 300), "cannot be written"),
    ]:
        with pytest.raises(OutputError, match=fault) as caught:
            open_outputs(good, bad, inputs=[data])
        assert str(bad) in str(caught.value)
        assert names(tmp_path) == ["folder", "in.csv", "link"]
    assert data.read_text() == "data"


def test_file_that_permissions_protect_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    # Permissions do not stop root, which may be who runs this.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match="it is read-only"):
        open_outputs(path)
    assert names(tmp_path) == ["a"]


def test_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "link"
    link.symlink_to("far/file")
    with OutputFiles([link]) as files:
        files.write(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "far" / "file").read_text() == "new"


def test_new_files_are_for_their_owner_and_old_ones_keep_their_permissions(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    old.chmod(0o640)
    with OutputFiles([old, new]):
        pass
    assert new.stat().st_mode & 0o777 == 0o600
    assert old.stat().st_mode & 0o777 == 0o640


def test_full_disk_is_named_and_leaves_nothing(tmp_path):
    # A limit on the size of files stands in for a full disk.
    work = """if True:
        import resource, sys
        from skpriv.report import OutputError, OutputFiles
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            with OutputFiles(sys.argv[1:]) as files:
                files.write(sys.argv[1], "x" * 999)
                files.write(sys.argv[2], "x" * 100_000)
        except OutputError as error:
            print(error)
    """
    pytest.importorskip("resource")
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    done = subprocess.run(
        [sys.executable, "-B", "-c", work, *paths], capture_output=True, text=True
    )
    assert done.stdout == f"{paths[1]}: cannot be written: File too large\n"
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == []


def test_replacing_that_fails_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)

    def work():
        with OutputFiles([tmp_path / "a"]) as files:
            files.write(tmp_path / "a", "new")

    with pytest.raises(OutputError, match="a: cannot be written: No space left"):
        work()
    assert names(tmp_path) == []


def test_file_that_is_standard_output_is_appended_to(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.write_text("old\n")
    with open(log, "a") as stdout:
        monkeypatch.setattr(sys, "__stdout__", stdout)
        with OutputFiles([log, tmp_path / "b"]) as files:
            files.write(log, "new é\n")
            stdout.write("printed\n")
    assert log.read_text(encoding="utf-8") == "old\nprinted\nnew é\n"
    assert names(tmp_path) == ["b", "log"]


def test_standard_output_is_written_once_and_not_after_a_fault(tmp_path, monkeypatch):
    log = tmp_path / "log"

    def work():
        with OutputFiles([log]) as files:
            files.write(log, "new")
            raise KeyboardInterrupt

    with open(log, "a") as stdout:
        monkeypatch.setattr(sys, "__stdout__", stdout)
        with pytest.raises(OutputError, match="is given for two outputs"):
            open_outputs(log, log)
        with pytest.raises(KeyboardInterrupt):
            work()
    assert log.read_text() == ""


def test_pipe_may_be_an_output_and_its_reader_may_leave_early(monkeypatch):
    reading, writing = os.pipe()
    with open(reading) as pipe, open(writing, "w") as stdout:
        monkeypatch.setattr(sys, "__stdout__", stdout)
        path = f"/dev/fd/{writing}"
        with OutputFiles([path]) as files:
            files.write(path, "new\n")
        assert pipe.readline() == "new\n"
        pipe.close()
        with OutputFiles([path]) as files:
            files.write(path, "more\n")


def test_json_has_all_and_a_line_per_column_of_records():
    report = {
        "data": {"label": "é", "x": None},
        "records": {"record": [1, 2], "risk": [None, 0.5]},
    }
    text = to_json(report)
    assert json.loads(text) == report
    assert '    "risk": [null, 0.5]\n' in text
    assert text.endswith("}\n")


def test_json_refuses_what_is_no_json():
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"x": float("nan"), "records": {}})
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"records": {"risk": [float("nan")]}})


def test_scores_csv_reads_back_to_the_last_bit():
    records = {"record": [1, 2], "label": ['a,"b"\nc', "é"], "waka": [0.1 + 0.2, 1e-17]}
    rows = list(csv.DictReader(io.StringIO(to_scores_csv({"records": records}))))
    assert [row["label"] for row in rows] == records["label"]
    assert [float(row["waka"]) for row in rows] == records["waka"]


def test_missing_score_is_empty_in_csv():
    records = {"record": [1, 2], "leverage": [None, 0.5]}
    assert to_scores_csv({"records": records}) == "record,leverage\n1,\n2,0.5\n"


@pytest.mark.parametrize(
    "label",
    [
        "=1+1",
        "@SUM(A1)",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "\t=1",
        "\r=1",
        "-inf",
        "\uff1d1",
    ],
)
def test_text_that_a_spreadsheet_would_run_is_escaped_in_csv(label):
    records = {"record": [1], "label": [label]}
    _, row = csv.reader(io.StringIO(to_scores_csv({"records": records}), newline=""))
    assert row == ["1", f"'{label}"]


def test_name_of_a_column_that_a_spreadsheet_would_run_is_escaped_in_csv():
    assert to_scores_csv({"records": {"=1+1": [1]}}) == "'=1+1\n1\n"


@pytest.mark.parametrize("label", ["-1", "+1.5e-3", "a=1", "", "'=1"])
def test_other_text_is_left_as_it_is_in_csv(label):
    records = {"record": [1], "label": [label], "leverage": [-1e-17]}
    _, row = csv.reader(io.StringIO(to_scores_csv({"records": records})))
    assert row == ["1", label, "-1e-17"]
