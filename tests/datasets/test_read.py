import gzip

import numpy as np
import pandas as pd
import pytest

from skpriv.datasets import DEFAULT_LABEL, TableError, load_default_table, read_table


def write(path, text):
    data = text if isinstance(text, bytes) else text.encode()
    if path.name.endswith(".gz"):
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


def test_default_table_has_the_named_classes():
    table = load_default_table()
    assert table.shape == (569, 31)
    assert set(table[DEFAULT_LABEL]) == {"malignant", "benign"}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV"])
def test_csv_keeps_rows_in_order_and_columns_typed(tmp_path, name):
    text = 'age,"job, now",ok\n39,clerk,True\n50,,False\n,"a ""b""",True\n'
    table = read_table(write(tmp_path / name, text))
    assert list(table.columns) == ["age", "job, now", "ok"]
    np.testing.assert_array_equal(table["age"], [39, 50, np.nan])
    assert table["job, now"].tolist()[::2] == ["clerk", 'a "b"']
    assert table["ok"].dtype == bool


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv_delimiter_is_taken_from_the_names(tmp_path, delimiter, line_end):
    text = f"a{delimiter}b{line_end}1{delimiter}x{line_end}"
    table = read_table(write(tmp_path / "t.csv", text))
    assert table.to_dict("list") == {"a": [1], "b": ["x"]}


def test_csv_byte_order_mark_is_no_part_of_a_name(tmp_path):
    table = read_table(write(tmp_path / "t.csv", b"\xef\xbb\xbfa,b\n1,2\n"))
    assert list(table.columns) == ["a", "b"]


def test_csv_name_may_hold_a_line_end(tmp_path):
    table = read_table(write(tmp_path / "t.csv", '"a\nb",c\n1,2\n3,4\n'))
    assert table.to_dict("list") == {"a\nb": [1, 3], "c": [2, 4]}


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "\n\n", "is empty"),
        ("t.csv.gz", "", "is empty"),
        ("t.csv", "a,b\n", "no records"),
        ("t.csv", "a,b,a\n1,2,3\n", "'a' occurs more than once"),
        ("t.csv", "a,b\n1,2,3\n", "more values than"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", "not a CSV file|more values than"),
        ("t.csv", 'a,b\n1,"2\n', "not a CSV file"),
        ("t.csv", "a,b\n1\n", "line 2 has fewer values than"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not text"),
        ("t.csv", b"PK\x03\x04\x00\x00\x00a,b\n1,2\n", "is not text"),
        ("t.parquet", b"PAR1 and then junk", "not a Parquet file"),
        ("t.parquet", b"", "not a Parquet file"),
        ("t.xlsx", b"junk", "is not a spreadsheet"),
        ("t.xlsx", b"", "is not a spreadsheet"),
        ("t.doc", b"junk", "must end in one of .csv, .tsv, .* .parquet"),
    ],
)
def test_fault_in_a_file_is_named(tmp_path, name, content, fault):
    path = write(tmp_path / name, content)
    with pytest.raises(TableError, match=fault) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


def test_cut_off_gzip_is_named(tmp_path):
    path = write(tmp_path / "t.csv.gz", "a,b\n" + "1,2\n" * 1000)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(TableError, match="cannot be read"):
        read_table(path)


def test_gzip_in_name_only_is_named(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"cannot be read: Not a gzipped file"):
        read_table(path)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_missing_file_and_folder_are_named(tmp_path, name):
    with pytest.raises(TableError, match="No such file"):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / name)


def test_parquet_reads_back_what_pandas_wrote(tmp_path):
    table = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", None])})
    table.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), table)


def test_parquet_named_index_is_a_column(tmp_path):
    table = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="who"))
    table.to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    assert read.to_dict("list") == {"who": ["x", "y"], "a": [1, 2]}


def test_parquet_with_a_name_twice_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match="'a' occurs more than once"):
        read_table(tmp_path / "t.parquet")


def test_parquet_with_a_damaged_text_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    table = pd.DataFrame({"a": ["some text", "other text"]})
    table.to_parquet(path, compression="none", use_dictionary=False)
    content = path.read_bytes()
    assert b"other text" in content
    path.write_bytes(content.replace(b"other text", b"oth\xffr text"))
    with pytest.raises(TableError, match="not a Parquet file, or damaged"):
        read_table(path)
