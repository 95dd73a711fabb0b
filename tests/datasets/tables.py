"""Small files as people have them, and what each must become.

Each case is a file, the options it is read with, and either the columns that it must
give, or the words of the error. A column is given by its values: numbers as int or
float, dates as ISO text after ``date``, text as str, None where one is missing.
"""

import gzip
import io
from dataclasses import dataclass, field

import pandas as pd


def date(*texts):
    return [None if text is None else pd.Timestamp(text) for text in texts]


@dataclass
class Case:
    """A file and what it must become.

    Attributes
    ----------
    content : str or bytes
    columns : dict of str to list, or None
    error : str or None
        A regular expression that the message of the error must match.
    name : str
        The file's.
    options : dict
    notes : dict
        For a column (None: the file), a regular expression that a note on it matches. A
        column that is not there must have no note.
    """

    content: str | bytes
    columns: dict | None = None
    error: str | None = None
    name: str = "t.csv"
    options: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)


def with_marks(*marks, n=24):
    """Numbers with some marks after them, and what is right: missing."""
    cells = [*map(str, range(10, 10 + n)), *marks]
    content = "x,y\n" + "".join(
        f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells)
    )
    numbers = [*map(float, range(10, 10 + n)), *[None] * len(marks)]
    return content, {"x": numbers, "y": ["ab"[i % 2] for i in range(len(cells))]}


def marked(*marks, note=True):
    content, columns = with_marks(*marks)
    return Case(content, columns, notes={"x": "missing"} if note else {})


def sheet(*rows, **more):
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as writer:
        for name, cells in {"data": rows, **more}.items():
            pd.DataFrame(cells).to_excel(
                writer, sheet_name=name, header=False, index=False
            )
    return file.getvalue()


AB = {"a": [1, 3], "b": ["x", "y"]}

CASES = {
    # Separators
    "comma": Case("a,b\n1,x\n3,y\n", AB),
    "semicolon": Case("a;b\n1;x\n3;y\n", AB),
    "tab": Case("a\tb\n1\tx\n3\ty\n", AB),
    "tab in a .tsv": Case("a\tb\n1\tx\n3\ty\n", AB, name="t.tsv"),
    "bar": Case("a|b\n1|x\n3|y\n", AB),
    "separator given": Case("a:b\n1:x\n3:y\n", AB, options={"sep": ":"}),
    "separator in a first line": Case("sep=;\na;b\n1;x\n3;y\n", AB),
    "space after the separator": Case("a, b\n1, x\n3, y\n", AB),
    "Windows line ends": Case("a;b\r\n1;x\r\n3;y\r\n", AB),
    "old Mac line ends": Case("a,b\r1,x\r3,y\r", AB),
    "empty lines at the end": Case("a,b\n1,x\n3,y\n\n\n", AB),
    "empty lines at the start": Case("\n\na,b\n1,x\n3,y\n", AB),
    "commas in quoted names, semicolons between": Case(
        '"a (net, yearly, EUR)";"b"\n1;"x"\n3;"y"\n',
        {"a (net, yearly, EUR)": [1, 3], "b": ["x", "y"]},
    ),
    "semicolons in quoted texts, commas between": Case(
        'a,b\n1,"x; y; z"\n3,"u; v; w"\n', {"a": [1, 3], "b": ["x; y; z", "u; v; w"]}
    ),
    "commas in texts, tabs between": Case(
        "a\tb\n1\tx, y and z\n3\tu, v\n", {"a": [1, 3], "b": ["x, y and z", "u, v"]}
    ),
    "two separators that split every line evenly": Case(
        "a;b,c\nx;y,z\nu;v,w\n",
        {"a": ["x", "u"], "b,c": ["y,z", "v,w"]},
        notes={None: "split at ';', though ',' also"},
    ),
    "semicolons in texts of a .tsv": Case(
        "a;b\tc\n1;2\tx\n3;4\ty\n",
        {"a;b": ["1;2", "3;4"], "c": ["x", "y"]},
        name="t.tsv",
    ),
    "a first line longer than the csv module takes": Case(
        "x" * 140_000 + ",b\n1,2\n", {"x" * 140_000: [1], "b": [2]}
    ),
    "line ends and quotes in quotes": Case(
        'a,b\n1,"x\ny"\n3,"say ""u"""\n', {"a": [1, 3], "b": ["x\ny", 'say "u"']}
    ),
    # Lines
    "cut off": Case("a,b,c\n1,2,3\n4,5\n", error="line 3 has fewer values .*cut off"),
    "cut off in quotes": Case('a,b\n1,"x"\n3,"y', error="line 3: unexpected end"),
    "one value too many": Case("a,b\n1,2\n3,4,5\n", error="line 3 has more values"),
    "title above the names": Case(
        "Report of 2024\na;b\n1;x\n3;y\n", error="remove line 1, 'Report of 2024'"
    ),
    "comment above the names": Case(
        "# exported\na;b\n1;x\n3;y\n", error="remove line 1, '# exported'"
    ),
    "no line of names": Case(
        "39,77516,x\n50,83311,y\n38,21564,x\n",
        {"39": [50, 38], "77516": [83311, 21564], "x": ["y", "x"]},
        notes={None: "first line is taken for the column names"},
    ),
    "a name twice": Case("a,b,a\n1,2,3\n", error="'a' occurs more than once"),
    # Encodings
    "byte order mark and encoding given": Case(
        b"\xef\xbb\xbfa,b\n1,x\n3,y\n", AB, options={"encoding": "utf-8"}
    ),
    "row names without a name": Case(
        '"","b"\n"0","x"\n"1","y"\n', {"Unnamed: 0": [0, 1], "b": ["x", "y"]}
    ),
    "byte order mark": Case(b"\xef\xbb\xbfa,b\n1,x\n3,y\n", AB),
    "UTF-16": Case("a,b\n1,x\n3,é\n".encode("utf-16"), {"a": [1, 3], "b": ["x", "é"]}),
    "Windows-1252": Case(
        "a,b\n1,€\n3,é\n".encode("cp1252"),
        {"a": [1, 3], "b": ["€", "é"]},
        notes={None: "not UTF-8 .*read as cp1252"},
    ),
    "Cyrillic, said": Case(
        "a,b\n1,да\n3,нет\n".encode("cp1251"),
        {"a": [1, 3], "b": ["да", "нет"]},
        options={"encoding": "cp1251"},
    ),
    "UTF-16 without a mark": Case(
        "a,b\n1,x\n".encode("utf-16-le"), error="--encoding utf-16"
    ),
    "no encoding": Case(
        "a,b\n", error="not a known encoding", options={"encoding": "x"}
    ),
    # Files
    "gzip": Case(gzip.compress(b"a\tb\n1\tx\n3\ty\n"), AB, name="t.tsv.gz"),
    "Excel": Case(sheet(["a", "b"], [1, "x"], [3, "y"]), AB, name="t.xlsx"),
    "Excel with marks, dates and blank cells": Case(
        sheet(
            ["n", "when", "b"],
            *([i, pd.Timestamp("2024-02-01"), "x"] for i in range(30)),
            ["?", None, None],
        ),
        {
            "n": [*map(float, range(30)), None],
            "when": date(*["2024-02-01"] * 30, None),
            "b": [*["x"] * 30, None],
        },
        name="t.xlsx",
        notes={"n": "missing"},
    ),
    "Excel with two sheets": Case(
        sheet(["a", "b"], [1, "x"], [3, "y"], other=[["z"]]),
        AB,
        name="t.xlsx",
        notes={None: "sheet 'data' is read"},
    ),
    "Excel with a title": Case(
        sheet(["Report", None, None], ["a", "b", "c"], [1, "x", 2]),
        error="row 1 must hold the column names",
        name="t.xlsx",
    ),
    "Excel with an index without a name": Case(
        sheet([None, "b"], [0, "x"], [1, "y"]),
        {"Unnamed: 0": [0, 1], "b": ["x", "y"]},
        name="t.xlsx",
    ),
    "Excel with a number that is missing": Case(
        sheet(["a", "b"], [1.5, "x"], [-9, "y"]),
        {"a": [1.5, None], "b": ["x", "y"]},
        name="t.xlsx",
        options={"missing": ["-9"]},
    ),
    # Marks for a missing value
    **{
        f"mark {mark!r}": marked(mark)
        for mark in ("?", ".", "-", " ", "unknown", "N/A", "NA", "null", "n.a.", "--")
    },
    "an empty cell": marked("", note=False),
    "several marks": marked("?", "NaN", "missing", ""),
    "a mark of their own, said": Case(
        with_marks("-9")[0],
        with_marks("-9")[1],
        options={"missing": ["-9"]},
    ),
    "a slip": marked("l7"),
    "a mark among texts": Case(
        "a,b\n1,x\n3,NA\n4,\n",
        {"a": [1, 3, 4], "b": ["x", "NA", None]},
        notes={"b": "'NA' is kept as a value of its own"},
    ),
    "mark in a column of dates": Case(
        "t,b\n2024-01-31,x\n?,y\n",
        {"t": date("2024-01-31", None), "b": ["x", "y"]},
        notes={"t": "missing date"},
    ),
    "text, said": Case(
        "a,b\n1,x\n?,y\n",
        {"a": ["1", "?"], "b": ["x", "y"]},
        options={"text": ["a"]},
    ),
    # Numbers written otherwise
    "decimal commas": Case(
        "a;b\n12,5;x\n3,25;y\n",
        {"a": [12.5, 3.25], "b": ["x", "y"]},
        notes={"a": "',' for decimals"},
    ),
    "points for thousands": Case(
        "a;b\n1.234,50;x\n12,5;y\n",
        {"a": [1234.5, 12.5], "b": ["x", "y"]},
        notes={"a": "',' for decimals and '.' for thousands"},
    ),
    "commas for thousands": Case(
        'a,b\n"1,234.50",x\n12.5,y\n',
        {"a": [1234.5, 12.5], "b": ["x", "y"]},
        notes={"a": "with ',' for thousands"},
    ),
    "spaces for thousands": Case(
        "a;b\n1 234,5;x\n12\u00a0345,0;y\n",
        {"a": [1234.5, 12345], "b": ["x", "y"]},
        notes={"a": "for thousands"},
    ),
    "apostrophes for thousands": Case(
        "a,b\n1'234.5,x\n12'345.0,y\n",
        {"a": [1234.5, 12345], "b": ["x", "y"]},
        notes={"a": "for thousands"},
    ),
    "currencies of letters and a sign": Case(
        "a,b\nR$ 12.50,x\nR$ 3,y\n",
        {"a": [12.5, 3], "b": ["x", "y"]},
        notes={"a": "the unit R"},
    ),
    "percent": Case(
        "a,b\n12.5%,x\n3 %,y\n",
        {"a": [12.5, 3], "b": ["x", "y"]},
        notes={"a": "the unit %"},
    ),
    "currency": Case(
        'a,b\n"$34,500",x\n-$12,y\n',
        {"a": [34500, -12], "b": ["x", "y"]},
        notes={"a": "thousands and the unit ."},
    ),
    "euros": Case(
        "a;b\n12,50 €;x\n1.000,00 €;y\n",
        {"a": [12.5, 1000], "b": ["x", "y"]},
        notes={"a": "the unit €"},
    ),
    "brackets and Unicode minus": Case(
        "a,b\n(12.5),x\n\N{MINUS SIGN}3,y\n",
        {"a": [-12.5, -3], "b": ["x", "y"]},
        notes={"a": "read as numbers"},
    ),
    "one column decides for another": Case(
        "a;b\n1.234;12,5\n2.345;7,5\n",
        {"a": [1234, 2345], "b": [12.5, 7.5]},
        notes={"a": "decimals or thousands", "b": "for decimals"},
    ),
    "decimals or thousands": Case(
        'a,b\n"1,234",x\n"2,345",y\n',
        {"a": [1234, 2345], "b": ["x", "y"]},
        notes={"a": "decimals or thousands"},
    ),
    "decimals or thousands, said": Case(
        'a,b\n"1,234",x\n"2,345",y\n',
        {"a": [1.234, 2.345], "b": ["x", "y"]},
        options={"decimal": ","},
        notes={"a": "',' for decimals$"},
    ),
    "no thousands": Case(
        'a,b\n"1,2,3",x\n"1,23,4",y\n', {"a": ["1,2,3", "1,23,4"], "b": ["x", "y"]}
    ),
    "two units": Case("a,b\n5 kg,x\n7 g,y\n", {"a": ["5 kg", "7 g"], "b": ["x", "y"]}),
    "exponents": Case("a,b\n1e3,x\n-2.5E-1,y\n", {"a": [1000, -0.25], "b": ["x", "y"]}),
    "beyond 2^63": Case(
        f"a,b\n{2**63 + 2**20},x\n{2**63},y\n",
        {"a": [2**63 + 2**20, 2**63], "b": ["x", "y"]},
    ),
    "digits that floats lose": Case(
        f"a,b\n{10**20 + 1},x\n{10**20 + 2},y\n",
        {"a": [str(10**20 + 1), str(10**20 + 2)], "b": ["x", "y"]},
        notes={"a": "kept as text"},
    ),
    "leading zeros": Case(
        "a,b\n01234,x\n98765,y\n",
        {"a": ["01234", "98765"], "b": ["x", "y"]},
        notes={"a": "kept as text"},
    ),
    "leading zeros, said to be numbers": Case(
        "a,b\n01234,x\n98765,y\n",
        {"a": [1234, 98765], "b": ["x", "y"]},
        options={"number": ["a"]},
    ),
    # Dates
    "ISO dates": Case(
        "t,b\n2024-01-31,x\n2024-02-29,y\n",
        {"t": date("2024-01-31", "2024-02-29"), "b": ["x", "y"]},
    ),
    "ISO times with a zone": Case(
        "t,b\n2024-01-31T12:00:00+01:00,x\n2024-02-29 10:30:00Z,y\n",
        {"t": date("2024-01-31 11:00", "2024-02-29 10:30"), "b": ["x", "y"]},
    ),
    "German dates": Case(
        "t,b\n31.12.2015,x\n1.2.2016,y\n",
        {"t": date("2015-12-31", "2016-02-01"), "b": ["x", "y"]},
        notes={"t": "day.month.year|day month year"},
    ),
    "British dates": Case(
        "t,b\n01/02/2016,x\n31/12/2015,y\n",
        {"t": date("2016-02-01", "2015-12-31"), "b": ["x", "y"]},
        notes={"t": "day/month/year"},
    ),
    "American dates": Case(
        "t,b\n01/02/2016,x\n12/31/2015,y\n",
        {"t": date("2016-01-02", "2015-12-31"), "b": ["x", "y"]},
        notes={"t": "month/day/year"},
    ),
    "three decimals": Case(
        "a,b\n1.234,x\n12.345,y\n", {"a": [1.234, 12.345], "b": ["x", "y"]}
    ),
    "whole numbers beside points and three digits": Case(
        "a;b\n100;x\n5.900;y\n",
        {"a": [100, 5900], "b": ["x", "y"]},
        notes={"a": "decimals or thousands"},
    ),
    "three decimals or thousands": Case(
        "a;b\n1.234;x\n12.345;y\n",
        {"a": [1.234, 12.345], "b": ["x", "y"]},
        notes={"a": "decimals or thousands"},
    ),
    "gzip by its content": Case(gzip.compress(b"a,b\n1,x\n3,y\n"), AB),
    "day or month": Case(
        "t,b\n01/02/2016,x\n03/04/2015,y\n",
        {"t": date("2016-01-02", "2015-03-04"), "b": ["x", "y"]},
        notes={"t": "whether the day or the month comes first"},
    ),
    "day or month, said": Case(
        "t,b\n01/02/2016,x\n03/04/2015,y\n",
        {"t": date("2016-02-01", "2015-04-03"), "b": ["x", "y"]},
        options={"day_first": True},
        notes={"t": "day/month/year$"},
    ),
    "another column tells the order": Case(
        "t,u\n01/02/2016,31/12/2015\n03/04/2015,01/01/2015\n",
        {"t": date("2016-02-01", "2015-04-03"), "u": date("2015-12-31", "2015-01-01")},
        notes={"t": "day/month/year; ", "u": "day/month/year"},
    ),
    "days between points are first": Case(
        "t,b\n01.02.2016,x\n03.04.2015,y\n",
        {"t": date("2016-02-01", "2015-04-03"), "b": ["x", "y"]},
        notes={"t": "whether the day"},
    ),
    "years of two digits": Case(
        "t,b\n31.12.15,x\n01.02.16,y\n",
        {"t": date("2015-12-31", "2016-02-01"), "b": ["x", "y"]},
        notes={"t": "day.month.year"},
    ),
    "hours": Case(
        "t,b\n23:59,x\n00:30,y\n",
        {"t": date("1900-01-01 23:59", "1900-01-01 00:30"), "b": ["x", "y"]},
        notes={"t": "hour:minute"},
    ),
    "months": Case(
        "t,b\nDec-2015,x\nFeb-2016,y\n",
        {"t": date("2015-12-01", "2016-02-01"), "b": ["x", "y"]},
        notes={"t": "month-year"},
    ),
    "names of months": Case(
        "t,b\n31 Dec 2015,x\n1 Feb 2016,y\n",
        {"t": date("2015-12-31", "2016-02-01"), "b": ["x", "y"]},
        notes={"t": "day.month.year|day month year"},
    ),
    "times of day": Case(
        "t,b\n31.12.2015 23:59,x\n01.02.2016 00:01,y\n",
        {"t": date("2015-12-31 23:59", "2016-02-01 00:01"), "b": ["x", "y"]},
        notes={"t": "day.month.year|day month year"},
    ),
    "days of digits": Case(
        "t,b\n20151231,x\n20160201,y\n20160229,z\n",
        {"t": date("2015-12-31", "2016-02-01", "2016-02-29"), "b": ["x", "y", "z"]},
        notes={"t": "year month day"},
    ),
    "no dates": Case(
        "t,b\nMay,x\n12:30,y\nMon,z\n",
        {"t": ["May", "12:30", "Mon"], "b": ["x", "y", "z"]},
    ),
    # Labels
    **{
        f"class {name!r}, {how}": Case(
            f"a,y\n1,{mark}{name}{mark}\n3,Severe\n4,Severe\n",
            {"a": [1, 3, 4], "y": [name, "Severe", "Severe"]},
            options={"label": "y"},
        )
        for name in ("None", "NA", "null", "?")
        for how, mark in (("plain", ""), ("quoted", '"'))
    },
    "class NA among numbers": Case(
        "a,y\n1,0\n3,1\n4,NA\n",
        {"a": [1, 3, 4], "y": ["0", "1", "NA"]},
        options={"label": "y"},
        notes={"y": "'NA' is kept as a value of its own"},
    ),
    "label with decimal commas": Case(
        "a;y\n1;0,5\n3;1,5\n",
        {"a": [1, 3], "y": [0.5, 1.5]},
        options={"label": "y"},
        notes={"y": "for decimals"},
    ),
    "blank label": Case(
        "a,y\n1,x\n3, \n", {"a": [1, 3], "y": ["x", None]}, options={"label": "y"}
    ),
    "truth values": Case("a,b\n1,True\n3,False\n", {"a": [1, 3], "b": [True, False]}),
}
