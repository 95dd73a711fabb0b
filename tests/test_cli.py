"""The command skpriv."""

import csv
import dataclasses
import gzip
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skpriv
from skpriv import cli, datasets, report
from skpriv.report import _kinds


@pytest.fixture(autouse=True)
def _no_measures_unless_asked(monkeypatch):
    # Each of them takes as long as an audit.
    monkeypatch.setattr("skpriv.report._audit.MOST_SECONDS", -1.0)


@pytest.fixture
def people(tmp_path):
    """A table with every kind of column, in a folder of its own."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "id": range(n),
            "age": rng.integers(18, 90, n).astype(float),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "income": rng.choice(["high", "low"], n),
        }
    )
    table.loc[3, "age"] = np.nan
    folder = tmp_path / "people"
    folder.mkdir()
    table.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def assert_one_line_fault(capsys, fault, code):
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("skpriv")
    assert ": error: " in err
    assert fault in err


def test_audit_of_the_bundled_data_prints_a_report(capsys):
    assert cli.main(["audit"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "569 records" in out
    for scorer in report.choose_kind(None, "classification").scorers.values():
        assert f"  {scorer.title}: " in out
    assert "Higher is more exposed" in out


def test_audit_of_a_file_agrees_in_all_its_outputs(people, capsys, tmp_path):
    scores, summary = tmp_path / "scores.csv", tmp_path / "report.json"
    code = cli.main(
        [
            *("audit", str(people), "--label", "income", "--drop", "job", "-k", "3"),
            *("--top", "4", "--scores", str(scores), "--json", str(summary)),
        ]
    )
    assert code == 0
    out = capsys.readouterr().out
    rows, found = read_csv(scores), json.loads(summary.read_text())
    assert len(rows) == found["data"]["records"] == 120
    assert found["model"]["name"].startswith("logistic regression")
    assert found["neighbors"]["n_neighbors"] == 3
    assert found["skpriv"] == skpriv.__version__
    by_name = {column["name"]: column for column in found["data"]["columns"]}
    assert list(by_name) == ["id", "age"]
    assert by_name["id"]["left_out"] == "identifier"

    labels = pd.read_csv(people)["income"]
    assert [row["label"] for row in rows] == labels.tolist()
    leverage = np.array([float(row["leverage"]) for row in rows])
    assert found["model"]["effective_parameters"] == pytest.approx(leverage.sum())
    top = found["most_exposed"]
    assert len(top) == 4
    assert [t["leverage"] for t in top] == sorted(leverage, reverse=True)[:4]
    for entry in top:
        assert rows[entry["record"] - 1]["label"] == entry["label"]
        assert leverage[entry["record"] - 1] == entry["leverage"]
        assert any(
            line.split()[:2] == [str(entry["record"]), entry["label"]]
            for line in out.splitlines()
        )


OF_NEIGHBORS = ["waka", "knn_shapley", "knn_leave_one_out"]


@pytest.mark.parametrize(
    ("model", "scores"),
    [
        ("logistic", ["leverage", "attack_power", *OF_NEIGHBORS]),
        ("ridge", ["leverage", *OF_NEIGHBORS]),
        ("knn", OF_NEIGHBORS),
    ],
)
def test_scores_are_those_of_the_model(people, tmp_path, model, scores):
    path = tmp_path / "scores.csv"
    arguments = ["audit", str(people), "--label", "income", "--model", model]
    assert cli.main([*arguments, "--scores", str(path)]) == 0
    rows = read_csv(path)
    columns = [column for name in scores for column in (name, f"{name}_percentile")]
    assert list(rows[0]) == ["record", "label", *columns, "like_neighbors"]
    encoded = datasets.encode_table(datasets.read_table(people), "income")
    expected = skpriv.WaKAScorer(n_neighbors=5).fit(encoded.X, encoded.y).scores_
    found = [float(row["waka"]) for row in rows]
    np.testing.assert_array_equal(found, expected)


ATTACKED = ["attack_success", "attack_success_low", "attack_success_high", "at_risk"]


@pytest.mark.parametrize("model", ["logistic", "knn"])
def test_attack_is_added_to_all_outputs(people, tmp_path, capsys, model):
    scores, summary = tmp_path / "scores.csv", tmp_path / "report.json"
    arguments = ["audit", str(people), "--label", "income", "--model", model]
    outputs = ["--scores", str(scores), "--json", str(summary)]
    assert cli.main([*arguments, *outputs, "--attack", "--shadows", "12"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "(LiRA), with 12 shadow models" in out
    rows, found = read_csv(scores), json.loads(read(summary))
    assert list(rows[0])[-4:] == ATTACKED
    assert found["attack"]["n_shadows"] == 12
    success = np.array([float(row["attack_success"]) for row in rows])
    assert found["attack"]["success"]["value"] == pytest.approx(success.mean())
    first = found["most_exposed"][0]
    assert first["attack_success"] == success[first["record"] - 1]

    assert cli.main([*arguments, *outputs]) == 0
    assert "LiRA success" not in capsys.readouterr().out
    assert json.loads(read(summary))["attack"] is None
    assert list(read_csv(scores)[0]) == list(rows[0])[:-4]


def test_attack_repeats_and_trains_64_shadows_by_default(people, capsys):
    arguments = ["audit", str(people), "--label", "income", "--model", "knn"]
    found = []
    for options in (["--attack"], ["--attack", "--shadows", "64"]):
        assert cli.main([*arguments, *options]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert "with 64 shadow models" in found[0]


def test_default_model_of_classes_is_logistic_regression(capsys):
    found = []
    for arguments in (["audit"], ["audit", "--model", "logistic"]):
        assert cli.main(arguments) == 0
        found.append(capsys.readouterr().out)
    assert "Model    logistic regression" in found[0]
    assert found[0] == found[1]


def test_default_model_of_a_quantity_is_ridge_regression(capsys, tmp_path):
    scores, summary = tmp_path / "scores.csv", tmp_path / "report.json"
    outputs = ["--scores", str(scores), "--json", str(summary)]
    assert cli.main(["audit", "--label", "mean area", *outputs]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Model    ridge regression" in out
    rows, found = read_csv(scores), json.loads(read(summary))
    assert [n for n in rows[0] if "percentile" not in n][2:] == [
        "leverage",
        "knn_shapley",
    ]
    area = datasets.load_default_table()["mean area"]
    assert [float(row["label"]) for row in rows] == area.tolist()
    quantity = {"minimum": area.min(), "maximum": area.max()}
    assert found["data"]["quantity"] == quantity
    assert found["data"]["classes"] is None
    assert 0.9 < found["model"]["r2"] < 1


def test_parquet_and_csv_give_the_same_scores(people, tmp_path):
    parquet = tmp_path / "people.parquet"
    pd.read_csv(people).to_parquet(parquet)
    for path in (people, parquet):
        out = tmp_path / f"{path.suffix}.out"
        cli.main(["audit", str(path), "--label", "income", "--scores", str(out)])
    assert (tmp_path / ".csv.out").read_bytes() == (
        tmp_path / ".parquet.out"
    ).read_bytes()


def test_order_of_rows_does_not_matter(people, tmp_path):
    table = pd.read_csv(people)
    table = pd.concat([table, table[::2]])  # duplicates, and so ties
    order = np.random.default_rng(1).permutation(len(table))
    found = []
    for name, rows in [("plain", table), ("shuffled", table.iloc[order])]:
        path, out = tmp_path / f"{name}.csv", tmp_path / f"{name}.out"
        rows.drop(columns="id").to_csv(path, index=False)
        cli.main(["audit", str(path), "--label", "income", "--scores", str(out)])
        found.append(pd.read_csv(out))
    scores = list(report.choose_kind(None, "classification").scorers)
    np.testing.assert_allclose(
        found[1][scores],
        found[0][scores].iloc[order],
        rtol=1e-7,  # the model is fitted to a gradient of 1e-8
        atol=1e-12,
    )


@pytest.mark.parametrize("model", ["logistic", "ridge", "knn"])
@pytest.mark.parametrize(
    "content",
    [
        "a,b,y\n1,x,0\n2,z,1\n3,x,1\n",
        "a,y\n1,u\n2,v\n",
        "a,y\n1,u\n1,v\n2,u\n2,v\n",
        "a,y\n" + "".join(f"{i % 7},{'u' if i else 'v'}\n" for i in range(30)),
    ],
    ids=["three records", "a record a class", "contradictions", "one exception"],
)
def test_few_records_are_an_audit(content, model, tmp_path, capsys):
    path, scores = tmp_path / "t.csv", tmp_path / "scores.csv"
    path.write_text(content)
    arguments = ["audit", str(path), "--label", "y", "--model", model]
    assert cli.main([*arguments, "--scores", str(scores)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "NaN" not in out
    assert len(read_csv(scores)) == content.count("\n") - 1


def test_few_records_with_a_quantity_are_an_audit(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n2,3.5\n3,1\n")
    assert cli.main(["audit", str(path), "--label", "y"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "NaN" not in out


def test_scores_that_cannot_be_trusted_are_said_to_be_missing(
    capsys, tmp_path, monkeypatch
):
    def make():
        return LogisticRegression(C=1e9, max_iter=1)

    kind = report.choose_kind("logistic", "classification")
    hasty = dataclasses.replace(kind, make=make, needs=())
    monkeypatch.setattr(_kinds, "KINDS", (hasty,))
    scores, summary = tmp_path / "scores.csv", tmp_path / "report.json"
    outputs = ["--scores", str(scores), "--json", str(summary)]
    assert cli.main(["audit", *outputs]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(read(summary))
    missing = found["scores"]["leverage"]["missing"]
    assert missing == found["model"]["not_converged"] > 0
    assert f"For {missing:,} records it has not converged." in " ".join(out.split())
    assert sum(row["leverage"] == "" for row in read_csv(scores)) == missing


def test_more_neighbours_than_records_is_an_audit(people, capsys):
    assert cli.main(["audit", str(people), "--label", "income", "-k", "500"]) == 0
    assert "k = 500" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "COMMAND"),
        (["adit"], "invalid choice: 'adit'"),
        (["audit", "--label"], "--label: expected one argument"),
        (["audit", "--model", "svm"], "--model: invalid choice: 'svm'"),
        (["audit", "--lab", "target"], "audit: error: unrecognized arguments: --lab"),
        (["audit", "-k", "0"], "--neighbors: '0' is not a whole number from 1"),
        (["audit", "-k", "2.5"], "--neighbors: '2.5' is not a whole number"),
        (["audit", "-k", "9" * 5000], "is not a whole number from 1 to 999999999"),
        (["audit", "--top", "-3"], "--top"),
        (["audit", "--label", "diagnosys"], "did you mean 'diagnosis'?"),
        (["audit", "--drop", "mean raduis"], "did you mean 'mean radius'"),
        (
            ["audit", "--label", "mean area", "--model", "knn"],
            "'mean area' is a quantity, and --model knn needs classes",
        ),
        (
            ["audit", "--label", "mean area", "--model", "logistic"],
            "use --model ridge",
        ),
        (["audit", "--attack", "--model", "ridge"], "use --model logistic or knn"),
        (["audit", "--attack", "--label", "mean area"], "--attack needs classes"),
        (["audit", "--shadows", "8"], "--shadows can only be used with --attack"),
        (
            ["audit", "--attack", "--shadows", "7"],
            "'7' is not an even number of at least 6",
        ),
        (
            ["audit", "--attack", "--shadows", "4"],
            "'4' is not an even number of at least 6",
        ),
        (["audit", "--attack", "--shadows", "x"], "'x' is not a whole number"),
        (["audit", "--attack", "--model", "knn", "-k", "285"], "at least 570"),
        (["audit", "missing.csv", "--label", "y"], "missing.csv: cannot be read: No"),
        (["audit", "people.doc", "--label", "y"], "must end in one of .csv"),
        (["audit", "--json", "no/such/folder.json"], "there is no folder 'no/such'"),
        (["audit", "--json", "x", "--scores", "x"], "x: is given for two outputs"),
        (["audit", "--scores", "/dev/null"], "is a folder or a device"),
    ],
)
def test_fault_in_the_command_line_is_one_line(
    arguments, fault, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert_one_line_fault(capsys, fault, cli.main(arguments))
    assert names(tmp_path) == []


GOOD = "a,b,y\n1,x,0\n2,z,1\n3,x,1\n"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b"a,y\n", "no records"),
        (bytes(range(256)) * 20, "is not"),
        (b"\x1f\x8b\x08junk", "cannot be read"),
        (b"a,a,y\n1,2,0\n3,4,1\n", "'a' occurs more than once"),
        (b"a,b\n1,2\n3,4\n", "no column 'y'"),
        (b"a,y\n1,0\n2,0\n", "one value only, '0'"),
        (b"a,y\n1,0\n2,\n3,1\n", "no value in record 2; every"),
        (b"a,y\n1,0\n1,1\n1,1\n", "'a' is constant"),
        (b"y\n0\n1\n1\n", "no column but the label"),
        (b"a,y\n1,0\ninf,1\n3,1\n", "infinite"),
        (b"a,y\n1,u\n2,v\n3,w\n", "3 different values in 3 records"),
        (b'a,y\n1,"0\n', "is not a CSV file"),
        (b"a,y\n1,0,7\n2,1,8\n", "more values than there are column names"),
        (b'"a\nb",Y\n1,0\n', "no column 'y'"),
    ],
)
def test_fault_in_a_file_is_one_line_and_writes_nothing(
    content, fault, capsys, tmp_path
):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    code = cli.main(
        ["audit", str(path), "--label", "y", "--json", str(tmp_path / "report.json")]
    )
    assert_one_line_fault(capsys, fault, code)
    assert names(tmp_path) == ["t.csv"]


def test_a_file_needs_its_label_named(people, capsys):
    code = cli.main(["audit", str(people)])
    assert_one_line_fault(capsys, "--label must name the column", code)


def test_a_folder_is_no_file(tmp_path, capsys):
    (tmp_path / "t.csv").mkdir()
    code = cli.main(["audit", str(tmp_path / "t.csv"), "--label", "y"])
    assert_one_line_fault(capsys, "is a folder", code)


def test_the_input_is_not_overwritten(people, capsys):
    before = people.read_bytes()
    code = cli.main(["audit", str(people), "--label", "income", "--json", str(people)])
    assert_one_line_fault(capsys, "is the input", code)
    assert people.read_bytes() == before


@pytest.fixture
def unprivileged():
    """Permissions do not stop root, so that root must be someone else for a while."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


def test_file_that_may_not_be_read_is_one_line(people, capsys, request):
    people.chmod(0)
    request.getfixturevalue("unprivileged")
    code = cli.main(["audit", str(people), "--label", "income"])
    assert_one_line_fault(capsys, "cannot be read: Permission denied", code)


def test_folder_that_may_not_be_written_is_one_line(tmp_path, capsys, request):
    tmp_path.chmod(0o555)
    request.getfixturevalue("unprivileged")
    code = cli.main(["audit", "--json", str(tmp_path / "report.json")])
    assert_one_line_fault(capsys, "Permission denied", code)


def test_disk_that_fills_is_one_line_and_leaves_old_files(
    people, capsys, tmp_path, monkeypatch
):
    def fill(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    path = tmp_path / "report.json"
    path.write_text("old")
    code = cli.main(["audit", str(people), "--label", "income", "--json", str(path)])
    assert_one_line_fault(capsys, "report.json: cannot be written: No space", code)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["people", "report.json"]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (MemoryError("Unable to allocate 9 TiB"), "too little memory: Unable to"),
        (ImportError("pip install 'skpriv[report]'"), "pip install 'skpriv[report]'"),
    ],
)
def test_lack_of_memory_or_of_a_package_is_one_line(
    error, fault, people, capsys, monkeypatch
):
    def fail():
        raise error

    failing = report.AuditScorer("WaKA", "nothing", fail, needs=())
    kind = report.choose_kind(None, "classification")
    monkeypatch.setitem(kind.scorers, "waka", failing)
    code = cli.main(["audit", str(people), "--label", "income"])
    assert_one_line_fault(capsys, fault, code)


def test_report_names_records_but_shows_none_of_their_data(people, capsys, tmp_path):
    table = pd.read_csv(people).assign(job="a secret", age=lambda t: t["age"] + 0.125)
    table.to_csv(people, index=False)
    outputs = ["--json", str(tmp_path / "j"), "--scores", str(tmp_path / "s")]
    assert cli.main(["audit", str(people), "--label", "income", *outputs]) == 0
    for text in (capsys.readouterr().out, *map(read, (tmp_path / "j", tmp_path / "s"))):
        assert "a secret" not in text
        assert f"{table['age'][0]}" not in text


def read(path):
    return path.read_text(encoding="utf-8")


def test_help_explains_every_option(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["audit", "--help"])
    assert stop.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for option in (
        "FILE",
        "--label",
        "--drop",
        "--top",
        "--scores",
        "--json",
        "--attack",
    ):
        assert option in text
    assert "-k" in text
    assert "--model {logistic,ridge,knn}" in text
    assert "Higher is more exposed" in text
    assert "(default: 5)" in text
    assert "--shadows" in text
    assert "(default: 64)" in text
    assert "The exit code is 0" in text


def test_every_option_has_a_help_text():
    parser = cli._make_parser()
    (commands,) = (a for a in parser._actions if a.choices)
    for action in commands.choices["audit"]._actions:
        assert action.help


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "skpriv", *arguments], text=True, **options
    )


def test_version_and_help_are_there_without_heavy_imports():
    code = (
        "import sys; from skpriv.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pandas', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"skpriv {skpriv.__version__}", "[]"]


def test_module_is_the_command_and_faults_set_the_exit_code():
    done = run("audit", "none.csv", "--label", "y", capture_output=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("skpriv audit: error: none.csv: cannot be read")
    assert done.stderr.count("\n") == 1


# A process that is started while SIGINT is ignored, as by nohup or in the background,
# would ignore it too.
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from skpriv.cli import main
sys.exit(main())
"""


def test_interruption_says_so_and_leaves_nothing(tmp_path):
    table, output = tmp_path / "t.csv", tmp_path / "report.json"
    os.mkfifo(table)
    arguments = ["audit", str(table), "--label", "y", "--json", str(output)]
    command = [sys.executable, "-c", INTERRUPTIBLE, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            # Opening waits until the command is reading.
            with open(table, "w"):
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err == "skpriv: interrupted\n"
    assert names(tmp_path) == ["t.csv"]


def test_reader_that_leaves_early_is_no_fault():
    done = run("audit", "--top", "500", stdout=closed_pipe(), stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_json_may_go_to_standard_output_after_the_report(people, capfd):
    arguments = ["audit", str(people), "--label", "income", "--model", "knn"]
    assert cli.main([*arguments, "--json", "/dev/stdout"]) == 0
    printed, _, found = capfd.readouterr().out.partition("\n{")
    assert "Higher is more exposed" in printed
    assert json.loads("{" + found)["data"]["records"] == 120


def test_closed_standard_output_is_one_line_and_files_are_written(
    people, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "stdout", None)
    arguments = ["audit", str(people), "--label", "income", "--model", "knn"]
    assert cli.main([*arguments, "--json", str(tmp_path / "report.json")]) == 0
    err = capsys.readouterr().err
    assert err == (
        "skpriv audit: the report is not printed: standard output is closed\n"
    )
    assert json.loads(read(tmp_path / "report.json"))["data"]["records"] == 120
    assert_one_line_fault(capsys, "standard output is closed", cli.main(arguments))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_report_that_cannot_be_printed_is_one_line():
    with open("/dev/full", "w") as full:
        done = run("audit", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "the report cannot be printed: No space left" in done.stderr


def test_names_that_the_terminal_cannot_show_are_replaced(people):
    text = people.read_text().replace("high", "é")
    people.write_text(text, encoding="utf-8")
    done = run(
        *("audit", str(people), "--label", "income"),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "income: low" in done.stdout


AWKWARD = "sep=;\nperson;age;when;code;buys\n" + "".join(
    f"p{i};{20 + i},5;0{i % 9 + 1}/02/2024;{i % 7};{i % 3 // 2}\n" for i in range(40)
).replace(";25,5;", ";?;")


def test_what_the_table_does_not_tell_is_to_be_checked(tmp_path, capsys):
    path, summary = tmp_path / "t.csv", tmp_path / "r.json"
    path.write_text(AWKWARD)
    arguments = ["audit", str(path), "--label", "buys", "--json", str(summary)]
    assert cli.main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Please check" in out
    assert "- age: '?' is taken as a missing number, in record 6 (--text age)" in out
    assert "the day or the month comes first (--day-first)" in out
    notes = json.loads(summary.read_text())["data"]["notes"]
    assert {(*note["columns"], note["option"]) for note in notes} == {
        ("age", "--text age"),
        ("when", "--day-first"),
    }
    assert cli.main([*arguments, "--day-first", "--text", "age", "--drop", "when"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "'?' is kept as a value" not in out
    assert "Please check" not in out


def test_nothing_to_check_is_not_mentioned(capsys):
    assert cli.main(["audit"]) == 0
    assert "Please check" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", [AWKWARD.encode(), gzip.compress(AWKWARD.encode("utf-8-sig"))]
)
def test_table_of_standard_input(content, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert cli.main(["audit", "-", "--label", "buys"]) == 0
    assert "standard input: 40 records" in capsys.readouterr().out


def test_records_are_named_by_their_identifier(tmp_path, capsys):
    path, scores = tmp_path / "t.csv", tmp_path / "s.csv"
    path.write_text(AWKWARD)
    arguments = ["audit", str(path), "--label", "buys", "--id", "person"]
    assert cli.main([*arguments, "--scores", str(scores)]) == 0
    assert [row["id"] for row in read_csv(scores)] == [f"p{i}" for i in range(40)]
    shown = [line.split()[:1] for line in capsys.readouterr().out.splitlines()]
    assert sum([f"p{i}"] in shown for i in range(40)) == 10


def test_label_of_codes_can_be_classes_and_one_of_few_numbers_a_quantity(
    tmp_path, capsys
):
    path, summary = tmp_path / "t.csv", tmp_path / "r.json"
    lines = [f"{i % 11},{i % 129}" for i in range(600)]
    path.write_text("\n".join(["x,y", *lines]))
    arguments = ["audit", str(path), "--label", "y", "--json", str(summary)]
    for options, label in (
        ([], "quantity"),
        (["--classes", "--model", "ridge"], "classes"),
    ):
        assert cli.main([*arguments, *options]) == 0
        assert json.loads(summary.read_text())["data"][label] is not None
        out = capsys.readouterr().out
        assert ("--classes" in out) == (not options)
    arguments = ["audit", str(path), "--label", "x", "--quantity"]
    assert cli.main([*arguments, "--json", str(summary)]) == 0
    assert json.loads(summary.read_text())["data"]["quantity"]["maximum"] == 10


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["audit", "--sep", "tab"], "--sep can only be used with FILE"),
        (["audit", "--month-first"], "--month-first can only be used with FILE"),
        (["audit", "t.csv", "--label", "y", "--sep", ";;"], "not one character"),
        (["audit", "t.csv", "--label", "y", "--number", "n"], "no column 'n'"),
        (["audit", "t.csv", "--label", "y", "--id", "n"], "no column 'n'"),
        (["audit", "t.csv", "--label", "y", "--id", "y"], "cannot be left out"),
        (["audit", "t.csv", "--label", "b", "--quantity"], "must be numbers"),
        (["audit", "t.csv", "--label", "y", "--encoding", "x"], "not a known encoding"),
        (["audit", "t.csv", "--label", "y", "--number", "b"], "holds no number"),
    ],
)
def test_fault_in_how_to_read_is_one_line(
    arguments, fault, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(GOOD)
    assert_one_line_fault(capsys, fault, cli.main(arguments))
