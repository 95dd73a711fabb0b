"""The command skpriv."""

import contextlib
import csv
import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from small_models import choose_small_kind

import skpriv
from skpriv import cli, datasets, report
from skpriv.report import _conduct

N = 60


def make_people(n=N):
    """Return a table with every kind of column."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": range(n),
            "age": rng.integers(18, 90, n).astype(float),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "income": rng.choice(["high", "low"], n),
        }
    )
    table.loc[3, "age"] = np.nan
    return table


@pytest.fixture(autouse=True)
def _no_measures_unless_asked(monkeypatch):
    # Each of them takes as long as an audit.
    monkeypatch.setattr("skpriv.report._audit.MOST_SECONDS", -1.0)


@pytest.fixture
def people(tmp_path):
    """Write a table with every kind of column to a folder of its own."""
    folder = tmp_path / "people"
    folder.mkdir()
    make_people().to_csv(folder / "people.csv", index=False)
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


FEW = ("--shadows", "8")


def audit(*arguments):
    """Run an audit with few shadow models."""
    return cli.main(["audit", *map(str, arguments), *FEW])


def test_audit_of_the_bundled_data_prints_a_report(capsys):
    assert cli.main(["audit"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "569 records" in out
    assert "The answer" in out
    assert "The 10 most exposed records, by risk" in out
    assert "(LiRA) on 16 shadow models" in out
    assert "higher is more exposed" in out
    assert "Please check" not in out


of_outputs = pytest.mark.xdist_group("outputs")  # which are made once


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Everything that one audit of a table with groups and identifiers gives."""
    folder = tmp_path_factory.mktemp("outputs")
    table = make_people()
    table.to_csv(folder / "people.csv", index=False)
    scores, summary = folder / "scores.csv", folder / "report.json"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = audit(
            *(folder / "people.csv", "--label", "income", "--drop", "age", "-k", 3),
            *("--top", 4, "--id", "id", "--group", "job", "--group", "age"),
            *("--scores", scores, "--json", summary, "--seed", 7),
        )
    assert code == 0
    return (
        table,
        printed.getvalue(),
        read_csv(scores),
        json.loads(read(summary)),
        folder,
    )


@of_outputs
def test_all_outputs_agree(outputs):
    table, out, rows, found, _ = outputs
    assert len(rows) == found["data"]["records"] == N
    assert found["model"]["name"].startswith("logistic regression")
    assert found["made"]["skpriv"] == skpriv.__version__
    assert [row["label"] for row in rows] == table["income"].tolist()
    assert [row["id"] for row in rows] == table["id"].map(str).tolist()
    assert [column["name"] for column in found["data"]["columns"]] == ["id", "job"]
    top = found["most_exposed"]
    assert len(top) == 4
    for entry in top:
        row = rows[entry["record"] - 1]
        assert row["id"] == entry["id"]
        assert float(row["risk"]) == entry["risk"]["value"]
        assert row["at_risk"] == str(entry["at_risk"])
        assert row["reasons"] == "; ".join(r["text"] for r in entry["reasons"])
        risk = f"{entry['risk']['value']:.1%}"
        assert any(
            line.split()[:3] == [entry["id"], entry["label"], risk]
            for line in out.splitlines()
        )


@of_outputs
def test_groups_are_columns_of_the_table_even_if_they_are_dropped(outputs):
    table, out, rows, found, _ = outputs
    groups = {column["column"]: column["groups"] for column in found["groups"]}
    assert list(groups) == ["income", "job", "age"]
    jobs = table["job"].value_counts()
    assert {g["name"]: g["records"] for g in groups["job"]} == jobs.to_dict()
    assert [row["job"] for row in rows] == table["job"].tolist()
    assert any(" to " in group["name"] for group in groups["age"])
    assert "Risk by job" in out


@of_outputs
def test_how_the_report_was_made_is_in_it(outputs):
    *_, found, folder = outputs
    made = found["made"]
    assert made["command"].startswith("skpriv audit ")
    assert made["command"].endswith("--seed 7 --shadows 8")
    assert made["random_state"] == 7
    table = (folder / "people.csv").read_bytes()
    assert made["data_hash"] == f"sha256:{hashlib.sha256(table).hexdigest()}"


@of_outputs
def test_files_are_readable_by_their_owner_only(outputs):
    for name in ("scores.csv", "report.json"):
        assert (outputs[-1] / name).stat().st_mode & 0o777 == 0o600


def test_the_page_and_the_markdown_are_written_and_show_values_if_asked_for(
    people, tmp_path
):
    table = pd.read_csv(people)
    table.loc[5, "age"] = 951.5
    table.to_csv(people, index=False)
    page, text = tmp_path / "r.html", tmp_path / "r.md"
    arguments = [people, "--label", "income", "--html", page, "--markdown", text]
    for options, shown in ([], False), (["--show-values"], True):
        assert audit(*arguments, "--top", N, "--quiet", *options) == 0
        for path in (page, text):
            assert ("951.5" in read(path)) == shown
            assert "is unusually high" in read(path)
            assert path.stat().st_mode & 0o777 == 0o600


@of_outputs
def test_numbers_are_those_of_the_api(outputs):
    *_, rows, _, folder = outputs
    table = datasets.read_table(folder / "people.csv", label="income")
    encoded = datasets.encode_table(table, "income", ["age"], ids=["id"])
    model = report.choose_kind("logistic", "classification").build(
        n_weights=encoded.X.shape[1] + 1, n_neighbors=3
    )
    risk = skpriv.RiskEstimator(model, n_shadows=8, random_state=7)
    risk.fit(encoded.X, encoded.y)
    assert [float(row["risk"]) for row in rows] == risk.scores_.tolist()
    assert [float(row["leverage"]) for row in rows] == (
        risk.covariates_["leverage"].tolist()
    )


@pytest.mark.parametrize("task", ["income", "age"])
@pytest.mark.parametrize("model", ["logistic", "ridge", "knn", "forest", "mlp"])
def test_every_model_is_an_audit(people, tmp_path, model, task, capsys, monkeypatch):
    monkeypatch.setattr(cli, "choose_kind", choose_small_kind)
    path = tmp_path / "scores.csv"
    arguments = [people, "--label", task, "--model", model, "--scores", path]
    if task == "age":
        arguments += ["--quantity", "--missing", "51"]
        people.write_text(people.read_text().replace(",,", ",20.0,"))
    if (model, task) == ("logistic", "age"):
        assert_one_line_fault(capsys, "needs classes; use", audit(*arguments))
        return
    assert audit(*arguments) == 0
    assert capsys.readouterr().err == ""
    risk = [float(row["risk"]) for row in read_csv(path)]
    assert len(risk) == N
    assert 0.5 <= min(risk) <= max(risk) <= 1


def test_boosting_is_an_audit(people, capsys):
    assert audit(people, "--label", "income", "--model", "boosting") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Model    gradient boosting of 100 trees" in out


def test_the_same_seed_gives_the_same_report_whatever_runs_at_a_time(people, capsys):
    found = []
    for options in ([], ["--jobs", "2"], ["--seed", "1"]):
        with parallel_config("threading"):
            assert audit(people, "--label", "income", *options) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] != found[2]


def test_records_can_be_ranked_by_a_score(people, tmp_path, capsys):
    path = tmp_path / "r.json"
    arguments = [people, "--label", "income", "--json", path, "--rank-by"]
    assert audit(*arguments, "leverage") == 0
    assert "most exposed records, by leverage" in capsys.readouterr().out
    top = json.loads(read(path))["most_exposed"]
    scores = [record["scores"]["leverage"] for record in top]
    assert scores == sorted(scores, reverse=True)
    path.unlink()
    assert_one_line_fault(
        capsys, "rank_by must be 'risk' or one", audit(*arguments, "x")
    )
    assert not path.exists()


def test_finished_models_are_kept_in_a_folder(people, tmp_path, capsys):
    arguments = [people, "--label", "income", "--cache", tmp_path / "cache"]
    found = []
    for _ in range(2):
        assert audit(*arguments) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert names(tmp_path / "cache")


def test_quiet_prints_nothing(people, tmp_path, capsys):
    path = tmp_path / "r.json"
    assert audit(people, "--label", "income", "--quiet", "--json", path) == 0
    assert capsys.readouterr() == ("", "")
    assert path.exists()


def test_values_are_shown_only_if_asked_for(people, capsys):
    table = pd.read_csv(people)
    table.loc[5, "age"] = 951.5
    table.to_csv(people, index=False)
    arguments = [people, "--label", "income", "--top", N]
    for options, shown in ([], False), (["--show-values"], True):
        assert audit(*arguments, *options) == 0
        out = capsys.readouterr().out
        assert "'age' is unusually high" in out
        assert ("[951.5]" in out) == shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(people, capsys, monkeypatch):
    assert audit(people, "--label", "income") == 0
    assert capsys.readouterr().err == ""
    for options, shown in (([], True), (["--quiet"], False)):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        assert audit(people, "--label", "income", *options) == 0
        for step in ("reading the table", "training shadow models, 8 of 8"):
            assert (step in stream.getvalue()) == shown


def test_default_model_of_classes_is_logistic_regression(people, capsys):
    found = []
    for arguments in ([], ["--model", "logistic"]):
        assert audit(people, "--label", "income", *arguments) == 0
        found.append(capsys.readouterr().out)
    assert "Model    logistic regression" in found[0]
    assert found[0] == found[1]


def test_default_model_of_a_quantity_is_ridge_regression(capsys, tmp_path):
    scores, summary = tmp_path / "scores.csv", tmp_path / "report.json"
    outputs = ["--scores", scores, "--json", summary]
    assert audit("--label", "mean area", *outputs) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Model    ridge regression" in out
    rows, found = read_csv(scores), json.loads(read(summary))
    assert {"leverage", "shapley", "out_of_shadow_error"} <= set(rows[0])
    area = datasets.load_default_table()["mean area"]
    assert [float(row["label"]) for row in rows] == area.tolist()
    quantity = {"minimum": area.min(), "maximum": area.max()}
    assert found["data"]["quantity"] == quantity
    assert found["data"]["classes"] is None
    assert 0.9 < found["model"]["performance"]["estimate"]["value"] < 1


def test_parquet_and_csv_give_the_same_scores(people, tmp_path):
    parquet = tmp_path / "people.parquet"
    pd.read_csv(people).to_parquet(parquet)
    for path in (people, parquet):
        out = tmp_path / f"{path.suffix}.out"
        assert audit(path, "--label", "income", "--scores", out) == 0
    assert (tmp_path / ".csv.out").read_bytes() == (
        tmp_path / ".parquet.out"
    ).read_bytes()


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
    arguments = [path, "--label", "y", "--model", model, "--scores", scores]
    assert audit(*arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    rows = read_csv(scores)
    assert len(rows) == content.count("\n") - 1
    alone = len(rows) == 30  # the only record of its class, and no third class
    unmeasurable = len(rows) < 10 or alone
    assert ("Nothing can be said about the risk" in out) == unmeasurable
    assert all((row["risk"] == "") == unmeasurable for row in rows)


def test_the_only_record_of_a_class_is_first_even_if_nothing_can_be_said(
    tmp_path, capsys
):
    path, summary = tmp_path / "t.csv", tmp_path / "r.json"
    lines = [f"{i % 7},{'u' if i != 61 else 'v'}" for i in range(100)]
    path.write_text("\n".join(["a,y", *lines]))
    assert audit(path, "--label", "y", "--json", summary) == 0
    (first, *_) = json.loads(read(summary))["most_exposed"]
    assert first["record"] == 62
    assert "the only record of its class" in first["reasons"][0]["text"]


def test_few_records_with_a_quantity_are_an_audit(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n2,3.5\n3,1\n")
    assert audit(path, "--label", "y") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Nothing can be said about the risk" in out


def test_more_neighbours_than_records_is_an_audit(people, capsys):
    arguments = [people, "--label", "income", "-k", "500"]
    assert audit(*arguments) == 0
    assert "The answer" in capsys.readouterr().out
    assert audit(*arguments, "--model", "knn") == 0
    assert "fewer than the 500 neighbours" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "COMMAND"),
        (["adit"], "invalid choice: 'adit'"),
        (["audit", "--label"], "--label: expected one argument"),
        (["audit", "--model", "svm"], "--model: 'svm' is none of logistic, ridge"),
        (["audit", "--lab", "target"], "audit: error: unrecognized arguments: --lab"),
        (["audit", "-k", "0"], "--neighbors: '0' is not a whole number from 1"),
        (["audit", "-k", "2.5"], "--neighbors: '2.5' is not a whole number"),
        (["audit", "-k", "9" * 5000], "is not a whole number from 1 to 999999999"),
        (["audit", "--top", "-3"], "--top"),
        (["audit", "--label", "diagnosys"], "did you mean 'diagnosis'?"),
        (["audit", "--drop", "mean raduis"], "did you mean 'mean radius'"),
        (
            ["audit", "--label", "mean area", "--model", "logistic"],
            "use --model ridge",
        ),
        (["audit", "--attack"], "unrecognized arguments: --attack"),
        (["audit", "--shadows", "7"], "'7' is not an even number of at least 8"),
        (["audit", "--shadows", "6"], "'6' is not an even number of at least 8"),
        (["audit", "--shadows", "x"], "'x' is not a whole number"),
        (["audit", "--seed", "-1"], "--seed"),
        (["audit", "--jobs", "0"], "--jobs: '0' is not a whole number"),
        (["audit", "--group", "sex"], "no column 'sex'"),
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
        (ValueError("Input X contains NaN."), "error: Input X contains NaN."),
    ],
)
def test_lack_of_memory_or_of_a_package_is_one_line(
    error, fault, people, capsys, monkeypatch
):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(_conduct, "_estimate_risk", fail)
    code = cli.main(["audit", str(people), "--label", "income"])
    assert_one_line_fault(capsys, fault, code)


def test_report_names_records_but_shows_none_of_their_data(people, capsys, tmp_path):
    table = pd.read_csv(people).assign(job="a secret", age=lambda t: t["age"] + 0.125)
    table.to_csv(people, index=False)
    outputs = ["--json", str(tmp_path / "j"), "--scores", str(tmp_path / "s")]
    assert audit(people, "--label", "income", *outputs) == 0
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
    options = (
        "FILE --label --drop --group --top --rank-by --scores --json --markdown --html "
        "--show-values --quiet --shadows --seed --jobs --cache -k --trust --members "
        "--fail-if --measures"
    )
    for option in options.split():
        assert option in text
    assert "--model MODEL" in text
    for kind in report.KINDS:
        assert f"{kind.name} ({kind.title}" in text
    assert "(default: 5)" in text
    assert "(default: 16)" in text
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


def test_reader_that_leaves_early_is_no_fault(people):
    # The report is longer than what Python keeps before it writes.
    make_people(200).to_csv(people, index=False)
    arguments = ["audit", people, "--label", "income", "--top", "200", *FEW]
    done = run(*arguments, stdout=closed_pipe(), stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_json_may_go_to_standard_output_after_the_report(people, capfd):
    assert audit(people, "--label", "income", "--json", "/dev/stdout") == 0
    printed, _, found = capfd.readouterr().out.partition("\n{")
    assert "higher is more exposed" in printed
    assert json.loads("{" + found)["data"]["records"] == N


def test_closed_standard_output_is_one_line_and_files_are_written(
    people, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "stdout", None)
    arguments = [people, "--label", "income"]
    assert audit(*arguments, "--json", tmp_path / "report.json") == 0
    err = capsys.readouterr().err
    assert err == (
        "skpriv audit: the report is not printed: standard output is closed\n"
    )
    assert json.loads(read(tmp_path / "report.json"))["data"]["records"] == N
    assert_one_line_fault(capsys, "standard output is closed", audit(*arguments))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_report_that_cannot_be_printed_is_one_line(people):
    arguments = ["audit", people, "--label", "income", *FEW]
    with open("/dev/full", "w") as full:
        done = run(*arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "the report cannot be printed: No space left" in done.stderr


def test_names_that_the_terminal_cannot_show_are_replaced(people):
    text = people.read_text().replace("high", "é")
    people.write_text(text, encoding="utf-8")
    done = run(
        *("audit", people, "--label", "income", *FEW),
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
    arguments = [path, "--label", "buys", "--json", summary]
    assert audit(*arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Please check" in out
    assert "- age: '?' is taken as a missing number, in record 6 (--text age)" in out
    assert "the day or the month comes first (--day-first)" in out
    notes = json.loads(summary.read_text())["data"]["notes"]
    assert {(*note["columns"], note["option"]) for note in notes} == {
        ("age", "--text age"),
        ("when", "--day-first"),
    }
    assert audit(*arguments, "--day-first", "--text", "age", "--drop", "when") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "'?' is kept as a value" not in out
    assert "Please check" not in out


@pytest.mark.parametrize(
    "content",
    [AWKWARD.encode(), gzip.compress(AWKWARD.encode("utf-8-sig"))],
    ids=["plain", "compressed"],
)
def test_table_of_standard_input(content, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert audit("-", "--label", "buys") == 0
    assert "standard input: 40 records" in capsys.readouterr().out


def test_records_are_named_by_their_identifier(tmp_path, capsys):
    path, scores = tmp_path / "t.csv", tmp_path / "s.csv"
    path.write_text(AWKWARD)
    arguments = [path, "--label", "buys", "--id", "person"]
    assert audit(*arguments, "--scores", scores) == 0
    assert [row["id"] for row in read_csv(scores)] == [f"p{i}" for i in range(40)]
    shown = [line.split()[:1] for line in capsys.readouterr().out.splitlines()]
    assert sum([f"p{i}"] in shown for i in range(40)) == 10


def test_label_of_codes_can_be_classes_and_one_of_few_numbers_a_quantity(
    tmp_path, capsys
):
    path, summary = tmp_path / "t.csv", tmp_path / "r.json"
    lines = [f"{i % 11},{i % 129}" for i in range(600)]
    path.write_text("\n".join(["x,y", *lines]))
    arguments = [path, "--label", "y", "--json", summary]
    for options, label in (
        ([], "quantity"),
        (["--classes", "--model", "ridge"], "classes"),
    ):
        assert audit(*arguments, *options) == 0
        assert json.loads(summary.read_text())["data"][label] is not None
        out = capsys.readouterr().out
        assert ("--classes" in out) == (not options)
    arguments = [path, "--label", "x", "--quantity"]
    assert audit(*arguments, "--json", summary) == 0
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
