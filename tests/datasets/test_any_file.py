"""Whatever is in a file, it is a table that can be encoded or a named fault."""

import gzip
import string

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skpriv.datasets import TableError, encode_table, read_table

AWKWARD = (
    *("", "NA", "1", "-0", "1e400", "1e-320", "inf", "9" * 25, "9" * 400, "True"),
    *("0x1F", "1,5", '"', '""', '"a', "2024-02-30", "2024-02-29", "9999-12-31"),
    *("0001-01-01", "12:30", "é", "\x1b[31m", " x ", "\r", "\n", "\0", "?", " "),
    *("1.234,5", '"1,234"', "1;5", "$5", "(5)", "5%", "5 kg", "007", "-", "1\t2"),
    *(
        "31.12.2015",
        "01/02/2015",
        "1/1/15",
        "20151231",
        "\uff11\uff12",
        "2015-12",
        "1e-5%",
    ),
)
CELLS = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(string.ascii_letters + string.digits, max_size=3),
    st.integers().map(str),
    st.floats().map(str),
)
HEADS = [b"", b"a,y\n", b"PAR1", b"PK\3\4"]
LINES = st.lists(st.lists(CELLS, min_size=1, max_size=4).map(",".join), max_size=12)

settings.register_profile(
    "files",
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def check(path):
    try:
        table = read_table(path)
    except TableError:
        return
    for label in table.columns:
        try:
            encoded = encode_table(table, label)
        except TableError:
            continue
        assert len(encoded.X) == len(encoded.y) == len(table)
        assert np.isfinite(encoded.X).all()
        assert np.isfinite(encoded.y).all()


@settings(settings.get_profile("files"))
@given(lines=LINES)
@example(lines=["a,y", "9999-12-31,0", "0001-01-01,1"])
@example(lines=["a,y", "1e-320,0", "1e-321,1"])
@example(lines=["a,y", "1e150,0", "-1e150,1"])
@example(lines=["a,y", "9" * 400 + ",0", "1,1"])
def test_any_lines_are_read_or_refused(tmp_path, lines):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    check(path)


@settings(settings.get_profile("files"))
@given(
    data=st.binary(max_size=200), head=st.sampled_from([b"", b"a,y\n", b"PAR1", b"PK"])
)
def test_any_bytes_are_read_or_refused(tmp_path, data, head):
    for name in ("t.csv", "t.parquet", "t.csv.gz", "t.xlsx"):
        (tmp_path / name).write_bytes(head + data)
        check(tmp_path / name)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(head + data))
    check(tmp_path / "t.csv.gz")
