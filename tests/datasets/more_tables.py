"""More files as people have them, and what a careful reader of data would make of each.

Where a file can be understood in more than one way, the case lists every answer that is
acceptable: the values, a note that names the column, or an error.
"""

import datetime
import gzip
import io
from dataclasses import dataclass
from decimal import Decimal

import openpyxl
import pandas as pd
from tables import Case, date


@dataclass
class OpenCase(Case):
    """A file that can be understood in several ways.

    Attributes
    ----------
    free : tuple of (str or None)
        Columns on which a note may stand or not.
    others : tuple of dict
        Further answers that are as good, each with ``columns`` and perhaps ``notes``
        and ``free``, or with ``error``.
    """

    free: tuple = ()
    others: tuple = ()


def column(name, *values):
    """A file of one column of values, and a column of text that keeps it company."""
    return "".join(
        f"{left},{right}\n"
        for left, right in zip(
            [name, *(f'"{v}"' if "," in v or v == "" else v for v in values)],
            ["who", *people(len(values))],
            strict=True,
        )
    )


def columns(name, *values):
    return {name: list(values), "who": people(len(values))}


def people(n):
    names = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Fay"]
    return [names[i % 6] for i in range(n)]


def semicolons(name, *values):
    lines = zip([name, *values], ["who", *people(len(values))], strict=True)
    return "".join(f"{left};{right}\n" for left, right in lines)


def text(*answers):
    """The text itself is an acceptable answer, noted or not."""
    return {"columns": columns(*answers), "free": (answers[0],)}


def workbook(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for i, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet{i + 1}")
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parquet(frame, **options):
    file = io.BytesIO()
    frame.to_parquet(file, **options)
    return file.getvalue()


DATE = datetime.datetime
SCATTERED = [(7919 * i * i + 104729 * i) % 900001 + 100000 for i in range(30)]
HEIGHTS = [150.5 + 1.75 * i for i in range(24)]


def with_mark(mark):
    """A column of measurements, with a mark in two places."""
    cells = [str(height) for height in HEIGHTS]
    cells[4] = cells[17] = mark
    values = [None if cell == mark else float(cell) for cell in cells]
    return OpenCase(
        column("height", *cells), columns("height", *values), free=("height",)
    )


SEPARATORS = {
    "commas in quotes": Case(
        'name,age\n"Smith, John",34\n"Doe, Jane",28\nRoe,41\n',
        {"name": ["Smith, John", "Doe, Jane", "Roe"], "age": [34, 28, 41]},
    ),
    "semicolons in quotes": Case(
        'name;age\n"a;b";34\n"c;d;e";28\n', {"name": ["a;b", "c;d;e"], "age": [34, 28]}
    ),
    "tabs, commas in the text": Case(
        "title\tyear\nThe Good, the Bad\t1966\nMe, Myself, Irene\t2000\n",
        {"title": ["The Good, the Bad", "Me, Myself, Irene"], "year": [1966, 2000]},
        name="films.txt",
    ),
    "bars": Case(
        "name|dept|pay\nAnn|R, D|12.5\nBob|HR|13\n",
        {"name": ["Ann", "Bob"], "dept": ["R, D", "HR"], "pay": [12.5, 13]},
    ),
    "bars within the values": Case(
        "genres,year\nAction|Comedy,1999\nDrama|War,2001\nDrama|Action,2001\n",
        {
            "genres": ["Action|Comedy", "Drama|War", "Drama|Action"],
            "year": [1999, 2001, 2001],
        },
    ),
    "line break in quotes": Case(
        'note,score\n"first line\nsecond, line",3\nshort,4\n',
        {"note": ["first line\nsecond, line", "short"], "score": [3, 4]},
    ),
    "line break in a column name": OpenCase(
        '"body\nweight",age\n70,34\n65,28\n',
        {"body\nweight": [70, 65], "age": [34, 28]},
        others=({"columns": {"body weight": [70, 65], "age": [34, 28]}},),
    ),
    "sep line": OpenCase(
        "sep=;\r\nname;weight\r\nAnn;60,5\r\nBob;72,25\r\n",
        {"name": ["Ann", "Bob"], "weight": [60.5, 72.25]},
        free=("weight",),
    ),
    "sep line in quotes after a mark": OpenCase(
        '\ufeff"sep=,"\r\nname,age\r\nAnn,60\r\nBob,72\r\n',
        {"name": ["Ann", "Bob"], "age": [60, 72]},
        others=({"error": "."},),
    ),
    "sep line of a tab": Case(
        "sep=\t\na\tb\n1\tx\n2\ty\n", {"a": [1, 2], "b": ["x", "y"]}
    ),
    "title lines": OpenCase(
        "Patients of 2015\n\nname,age\nAnn,34\nBob,28\n",
        error="line 3|title|header|column",
        others=(
            {
                "columns": {"name": ["Ann", "Bob"], "age": [34, 28]},
                "notes": {None: "."},
            },
        ),
    ),
    "comment lines": OpenCase(
        "# exported 2015-12-31, by clinic\n# version 2\nname,age,sex\nAnn,34,f\n",
        error="line|column",
        others=(
            {
                "columns": {"name": ["Ann"], "age": [34], "sex": ["f"]},
                "free": (None,),
            },
        ),
    ),
    "commas in names and numbers of a file with semicolons": OpenCase(
        "height, cm;weight, kg\n180,5;75,2\n165,5;60,5\n171,5;66,8\n",
        {"height, cm": [180.5, 165.5, 171.5], "weight, kg": [75.2, 60.5, 66.8]},
        free=(
            "height, cm",
            "weight, kg",
        ),
    ),
    "comma in each text of a file with semicolons": Case(
        "name;comment;n\nA;good, cheap;1\nB;bad, dear;2\nC;fair, fine;1\n",
        {
            "name": ["A", "B", "C"],
            "comment": ["good, cheap", "bad, dear", "fair, fine"],
            "n": [1, 2, 1],
        },
    ),
    "one column": Case("age\n34\n28\n34\n", {"age": [34, 28, 34]}),
    "one column, decimal commas": OpenCase(
        "weight\n72,5\n80,1\n65,3\n",
        {"weight": [72.5, 80.1, 65.3]},
        free=("weight", None),
        others=({"error": "line 2"},),
    ),
    "objects in a value": Case(
        'k,payload\n1,"{""a"": 1, ""b"": [2, 3]}"\n2,"{}"\n',
        {"k": [1, 2], "payload": ['{"a": 1, "b": [2, 3]}', "{}"]},
    ),
    "spaces after the commas": OpenCase(
        "age, class, pay\n39, State-gov, 77516\n50, ?, 83311\n",
        {"age": [39, 50], "class": ["State-gov", "?"], "pay": [77516, 83311]},
        free=("class",),
    ),
    "quotes after spaces": OpenCase(
        '"name", "age"\n"Smith, J", 34\n"Roe, R", 28\n',
        {"name": ["Smith, J", "Roe, R"], "age": [34, 28]},
        others=({"error": "."},),
    ),
    "text quoted after spaces": OpenCase(
        'age, name\n34, "Smith, J"\n28, "Roe, R"\n',
        {"age": [34, 28], "name": ["Smith, J", "Roe, R"]},
        others=({"error": "line 2"},),
    ),
    "separator at the end of each line": OpenCase(
        "a,b,\n1,x,\n2,y,\n",
        {"a": [1, 2], "b": ["x", "y"]},
        free=(None,),
        others=(
            {"error": "column|name"},
            *(
                {
                    "columns": {"a": [1, 2], "b": ["x", "y"], name: [None, None]},
                    "free": (None, name),
                }
                for name in ("", "Unnamed: 2", "column 3", "column_3", "3")
            ),
        ),
    ),
    "separator at the end of the lines of data": OpenCase(
        "a,b\n1,x,\n2,y,\n3,z,\n",
        {"a": [1, 2, 3], "b": ["x", "y", "z"]},
        free=(None,),
        others=({"error": "line 2"},),
    ),
    "names of rows without a column name": OpenCase(
        '"a","b"\n"1",10,"x"\n"2",30,"y"\n',
        error=r"line 2\b",
    ),
}

NUMBERS = {
    "decimal commas in quotes": OpenCase(
        column("w", "12,5", "7,25", "100,75"),
        columns("w", 12.5, 7.25, 100.75),
        free=("w",),
    ),
    "decimal commas and whole numbers": OpenCase(
        semicolons("w", "12,5", "7", "100,75"),
        columns("w", 12.5, 7, 100.75),
        free=("w",),
    ),
    "three decimals after a zero": OpenCase(
        semicolons("p", "0,125", "0,375", "0,999"),
        columns("p", 0.125, 0.375, 0.999),
        free=("p",),
    ),
    "three decimals after a zero and a point": Case(
        semicolons("p", "0.125", "0.375", "0.999"), columns("p", 0.125, 0.375, 0.999)
    ),
    "three decimals in a file with commas": Case(
        column("p", "1.125", "2.375", "3.999"), columns("p", 1.125, 2.375, 3.999)
    ),
    "apostrophes for thousands and a point": OpenCase(
        column("n", "1'234", "987", "1'200'345.50"),
        columns("n", 1234, 987, 1200345.5),
        free=("n",),
    ),
    "typographic apostrophes for thousands": OpenCase(
        column("n", "1\u2019234", "987", "12\u2019500"),
        columns("n", 1234, 987, 12500),
        free=("n",),
    ),
    "spaces for thousands and a comma": OpenCase(
        semicolons("n", "1 234,5", "987", "1 200 345,25"),
        columns("n", 1234.5, 987, 1200345.25),
        free=("n",),
    ),
    "spaces that do not break for thousands": OpenCase(
        semicolons("n", "1\u00a0234,5", "987,1", "12\u00a0500,0"),
        columns("n", 1234.5, 987.1, 12500),
        free=("n",),
    ),
    "narrow spaces for thousands": OpenCase(
        semicolons("n", "1\u202f234,5", "987,1", "12\u202f500,0"),
        columns("n", 1234.5, 987.1, 12500),
        free=("n",),
    ),
    "points for thousands and a comma": OpenCase(
        semicolons("n", "1.234,50", "987,00", "1.200.345,25"),
        columns("n", 1234.5, 987, 1200345.25),
        free=("n",),
    ),
    "commas for thousands and a point": OpenCase(
        column("n", "1,234.50", "987.00", "1,200,345.25"),
        columns("n", 1234.5, 987, 1200345.25),
        free=("n",),
    ),
    "commas for thousands, whole": OpenCase(
        column("n", "1,234", "987", "12,345"),
        columns("n", 1234, 987, 12345),
        free=("n",),
    ),
    "commas twice for thousands": OpenCase(
        column("n", "1,234,567", "987", "12,345"),
        columns("n", 1234567, 987, 12345),
        free=("n",),
    ),
    "points for thousands, whole, beside decimal commas": OpenCase(
        "people;km\n1.234;1,5\n12.500;20,25\n987;3,0\n",
        {"people": [1234, 12500, 987], "km": [1.5, 20.25, 3]},
        free=(
            "people",
            "km",
        ),
    ),
    "points for thousands, whole": OpenCase(
        semicolons("n", "1.234", "12.500", "987"),
        columns("n", 1234, 12500, 987),
        notes={"n": "thousand|decimal"},
        others=(
            {
                "columns": columns("n", 1.234, 12.5, 987),
                "notes": {"n": "thousand|decimal"},
            },
        ),
    ),
    "commas after two digits": OpenCase(
        column("n", "12,34,567", "1,23,456", "98,765"),
        columns("n", 1234567, 123456, 98765),
        free=("n",),
        others=(text("n", "12,34,567", "1,23,456", "98,765"),),
    ),
    "decimal points and commas mixed": OpenCase(
        semicolons("n", "1.5", "2,5", "3.25", "4,75"),
        columns("n", 1.5, 2.5, 3.25, 4.75),
        notes={"n": "."},
        others=(text("n", "1.5", "2,5", "3.25", "4,75"), {"error": "n"}),
    ),
    "powers of ten and signs": Case(
        column("x", "1.5e-3", "+3", "-2", "1E5", ".5", "4."),
        columns("x", 0.0015, 3, -2, 1e5, 0.5, 4),
    ),
    "typographic minus": OpenCase(
        column("x", "\u22123.5", "2", "\u22121", "4"), columns("x", -3.5, 2, -1, 4)
    ),
    "minus at the end": OpenCase(
        column("x", "12.50-", "3.00", "4.25-", "7.50"),
        columns("x", -12.5, 3, -4.25, 7.5),
        free=("x",),
        others=(text("x", "12.50-", "3.00", "4.25-", "7.50"),),
    ),
    "percent of several lengths": OpenCase(
        column("rate", "12.5%", "7%", "0.25%"),
        columns("rate", 12.5, 7, 0.25),
        free=("rate",),
        others=({"columns": columns("rate", 0.125, 0.07, 0.0025)},),
    ),
    "percent after a space": OpenCase(
        semicolons("rate", "12,5 %", "7,0 %", "-0,25 %"),
        columns("rate", 12.5, 7, -0.25),
        free=("rate",),
        others=({"columns": columns("rate", 0.125, 0.07, -0.0025)},),
    ),
    "dollars": OpenCase(
        column("pay", "$1,234.50", "$12", "-$5.25", "$0.99"),
        columns("pay", 1234.5, 12, -5.25, 0.99),
        free=("pay",),
    ),
    "euros at the end": OpenCase(
        semicolons("pay", "1.234,50 €", "12,00 €", "-5,25 €"),
        columns("pay", 1234.5, 12, -5.25),
        free=("pay",),
    ),
    "euros in an old encoding": OpenCase(
        semicolons("pay", "1.234,50 €", "12,00 €", "5,25 €").encode("cp1252"),
        columns("pay", 1234.5, 12, 5.25),
        free=("pay", None),
    ),
    "pounds in an old encoding": OpenCase(
        column("pay", "£1,234.50", "£12.00", "£5").encode("cp1252"),
        columns("pay", 1234.5, 12, 5),
        free=("pay", None),
    ),
    "codes of a currency": OpenCase(
        column("pay", "EUR 12.50", "EUR 7.00", "EUR 1234.00"),
        columns("pay", 12.5, 7, 1234),
        free=("pay",),
        others=(text("pay", "EUR 12.50", "EUR 7.00", "EUR 1234.00"),),
    ),
    "two currencies": OpenCase(
        column("pay", "$12.50", "€7.00", "$8.25", "€9.00"),
        columns("pay", "$12.50", "€7.00", "$8.25", "€9.00"),
        free=("pay",),
    ),
    "negative in parentheses": OpenCase(
        column("gain", "(12.50)", "7.25", "(1,300.00)", "3.00"),
        columns("gain", -12.5, 7.25, -1300, 3),
        free=("gain",),
    ),
    "negative dollars in parentheses": OpenCase(
        column("gain", "($12.50)", "$7.25", "($1,300.00)"),
        columns("gain", -12.5, 7.25, -1300),
        free=("gain",),
    ),
    "unit": OpenCase(
        column("w", "70 kg", "65.5 kg", "80 kg"),
        columns("w", 70, 65.5, 80),
        free=("w",),
    ),
    "unit without a space": OpenCase(
        column("h", "170cm", "165cm", "180cm"),
        columns("h", 170, 165, 180),
        free=("h",),
    ),
    "kilograms and grams": OpenCase(
        column("w", "2 kg", "500 g", "1 kg", "250 g"),
        columns("w", "2 kg", "500 g", "1 kg", "250 g"),
        free=("w",),
    ),
    "thousands written k": OpenCase(
        column("pay", "12k", "3.5k", "900", "1.2M"),
        columns("pay", "12k", "3.5k", "900", "1.2M"),
        free=("pay",),
        others=(
            {
                "columns": columns("pay", 12000, 3500, 900, 1200000),
                "notes": {"pay": "."},
            },
        ),
    ),
    "age bands": Case(
        column("band", "0-4", "5-9", "10-14", "5-9", "85+"),
        columns("band", "0-4", "5-9", "10-14", "5-9", "85+"),
    ),
    "age bands that look like dates": Case(
        column("band", "1-4", "5-9", "10-12", "5-9", "1-4"),
        columns("band", "1-4", "5-9", "10-12", "5-9", "1-4"),
    ),
    "bounds": OpenCase(
        column("crp", "<5", "7.5", "12", "<5", ">200"),
        columns("crp", "<5", "7.5", "12", "<5", ">200"),
        free=("crp",),
    ),
    "times of day, of hours and minutes": OpenCase(
        column("at", "08:15", "12:30", "23:59", "00:00"),
        columns("at", "08:15", "12:30", "23:59", "00:00"),
        free=("at",),
        others=(
            {
                "columns": {
                    "at": date(
                        "1900-01-01 08:15",
                        "1900-01-01 12:30",
                        "1900-01-01 23:59",
                        "1900-01-01 00:00",
                    ),
                    "who": people(4),
                },
                "notes": {"at": "hour|time"},
            },
        ),
    ),
    "codes with an E": Case(
        column("code", "1E5", "2E7", "3F1", "1E5"),
        columns("code", "1E5", "2E7", "3F1", "1E5"),
    ),
    "fractions of a number": Case(
        column("ratio", "1:2", "1:4", "3:1"), columns("ratio", "1:2", "1:4", "3:1")
    ),
    "infinity": OpenCase(
        column("x", *map(str, HEIGHTS), "inf"),
        columns("x", *HEIGHTS, None),
        notes={"x": "."},
        others=(
            {"columns": columns("x", *HEIGHTS, float("inf")), "free": ("x",)},
            {"error": "x"},
        ),
    ),
}

DATES = {
    "ISO dates of two centuries": Case(
        column("on", "2015-12-31", "2016-02-29", "1950-01-01"),
        {"on": date("2015-12-31", "2016-02-29", "1950-01-01"), "who": people(3)},
    ),
    "ISO dates with times": Case(
        column("on", "2015-12-31 23:59:10", "2016-02-29 00:00:00"),
        {"on": date("2015-12-31 23:59:10", "2016-02-29"), "who": people(2)},
    ),
    "ISO dates with a T and fractions": Case(
        column("on", "2015-12-31T23:59:10.250", "2016-02-29T00:00:00.000"),
        {"on": date("2015-12-31 23:59:10.25", "2016-02-29"), "who": people(2)},
    ),
    "ISO dates with a Z": OpenCase(
        column("on", "2015-12-31T23:59:10Z", "2016-02-29T00:00:00Z"),
        {"on": date("2015-12-31 23:59:10", "2016-02-29"), "who": people(2)},
        free=("on",),
        others=(
            {
                "columns": {
                    "on": date("2015-12-31 23:59:10Z", "2016-02-29 00:00Z"),
                    "who": people(2),
                }
            },
        ),
    ),
    "dates and dates with times": OpenCase(
        column("on", "2015-12-31", "2016-02-29 12:30", "2016-03-01 08:15:30"),
        {
            "on": date("2015-12-31", "2016-02-29 12:30", "2016-03-01 08:15:30"),
            "who": people(3),
        },
    ),
    "dates with points": OpenCase(
        column("on", "31.12.2015", "1.2.2016", "28.02.1950"),
        {"on": date("2015-12-31", "2016-02-01", "1950-02-28"), "who": people(3)},
        free=("on",),
    ),
    "dates with points and times": OpenCase(
        semicolons("on", "31.12.2015 23:59", "01.02.2016 08:15"),
        {"on": date("2015-12-31 23:59", "2016-02-01 08:15"), "who": people(2)},
        free=("on",),
    ),
    "day first": OpenCase(
        column("on", "31/12/2015", "01/02/2016", "05/06/1950"),
        {"on": date("2015-12-31", "2016-02-01", "1950-06-05"), "who": people(3)},
        free=("on",),
    ),
    "month first": OpenCase(
        column("on", "12/31/2015", "01/02/2016", "5/6/1950"),
        {"on": date("2015-12-31", "2016-01-02", "1950-05-06"), "who": people(3)},
        free=("on",),
    ),
    "month first, with a clock of 12 hours": OpenCase(
        column("on", "12/31/2015 11:59 PM", "01/02/2016 12:05 AM"),
        {"on": date("2015-12-31 23:59", "2016-01-02 00:05"), "who": people(2)},
        free=("on",),
    ),
    "day or month first": OpenCase(
        column("on", "01/02/2015", "03/04/2015", "11/12/2014"),
        {"on": date("2015-01-02", "2015-03-04", "2014-11-12"), "who": people(3)},
        notes={"on": "day|month"},
        others=(
            {
                "columns": {
                    "on": date("2015-02-01", "2015-04-03", "2014-12-11"),
                    "who": people(3),
                },
                "notes": {"on": "day|month"},
            },
        ),
    ),
    "day or month first, another column tells": OpenCase(
        "born,seen\n01/02/1950,25/12/2015\n03/04/1961,01/02/2016\n",
        {
            "born": date("1950-02-01", "1961-04-03"),
            "seen": date("2015-12-25", "2016-02-01"),
        },
        free=(
            "born",
            "seen",
        ),
    ),
    "day first here and month first there": OpenCase(
        column("on", "31/12/2015", "12/31/2015", "01/02/2016", "25/12/2014"),
        columns("on", "31/12/2015", "12/31/2015", "01/02/2016", "25/12/2014"),
        free=("on",),
        others=({"error": "on"},),
    ),
    "a date that does not exist": OpenCase(
        column("on", "2015-02-28", "2015-02-30", "2015-03-01"),
        columns("on", "2015-02-28", "2015-02-30", "2015-03-01"),
        free=("on",),
        others=(
            {
                "columns": {
                    "on": date("2015-02-28", None, "2015-03-01"),
                    "who": people(3),
                },
                "notes": {"on": "2015-02-30|missing"},
            },
            {"error": "on"},
        ),
    ),
    "names of months, cut": OpenCase(
        column("on", "31 Dec 2015", "1 Feb 2016", "05 May 1950"),
        {"on": date("2015-12-31", "2016-02-01", "1950-05-05"), "who": people(3)},
        free=("on",),
    ),
    "names of months before the day": OpenCase(
        column("on", "December 31, 2015", "February 1, 2016", "May 5, 1950"),
        {"on": date("2015-12-31", "2016-02-01", "1950-05-05"), "who": people(3)},
        others=(text("on", "December 31, 2015", "February 1, 2016", "May 5, 1950"),),
        free=("on",),
    ),
    "names of months, years of two digits": OpenCase(
        column("on", "31-DEC-15", "01-FEB-16", "05-MAY-98"),
        {"on": date("2015-12-31", "2016-02-01", "1998-05-05"), "who": people(3)},
        free=("on",),
        others=(text("on", "31-DEC-15", "01-FEB-16", "05-MAY-98"),),
    ),
    "years of two digits, points": OpenCase(
        semicolons("on", "31.12.15", "01.02.98", "28.02.03"),
        {"on": date("2015-12-31", "1998-02-01", "2003-02-28"), "who": people(3)},
        free=("on",),
        others=(text("on", "31.12.15", "01.02.98", "28.02.03"),),
    ),
    "birthdays with years of two digits": OpenCase(
        column("born", "12/31/45", "01/15/62", "02/28/38", "03/17/71"),
        {
            "born": date("1945-12-31", "1962-01-15", "1938-02-28", "1971-03-17"),
            "who": people(4),
        },
        free=("born",),
        others=(
            text("born", "12/31/45", "01/15/62", "02/28/38", "03/17/71"),
            {
                "columns": {
                    "born": date(
                        "2045-12-31", "2062-01-15", "2038-02-28", "1971-03-17"
                    ),
                    "who": people(4),
                },
                "notes": {"born": r"centur|digit|future|20\d\d|1900"},
            },
        ),
    ),
    "years": Case(
        column("year", "1999", "2005", "2015", "1999"),
        columns("year", 1999, 2005, 2015, 1999),
    ),
    "compact dates": OpenCase(
        column("on", "20151231", "20160201", "19500505"),
        {"on": date("2015-12-31", "2016-02-01", "1950-05-05"), "who": people(3)},
        free=("on",),
    ),
    "numbers of eight digits": OpenCase(
        column("n", "20151231", "20991350", "98765432", "12345678"),
        columns("n", 20151231, 20991350, 98765432, 12345678),
        free=("n",),
    ),
    "slashes, year first": Case(
        column("on", "2015/12/31", "2016/02/01"),
        {"on": date("2015-12-31", "2016-02-01"), "who": people(2)},
    ),
    "months": OpenCase(
        column("month", "2015-12", "2016-02", "2016-03"),
        {"month": date("2015-12-01", "2016-02-01", "2016-03-01"), "who": people(3)},
        free=("month",),
        others=(text("month", "2015-12", "2016-02", "2016-03"),),
    ),
    "quarters": OpenCase(
        column("q", "2015Q1", "2015Q2", "2016Q1"),
        columns("q", "2015Q1", "2015Q2", "2016Q1"),
        free=("q",),
    ),
    "zeros for no date": OpenCase(
        column(
            "on", *(f"2015-01-{d:02}" for d in range(1, 29)), "0000-00-00", "2015-02-01"
        ),
        {
            "on": date(*(f"2015-01-{d:02}" for d in range(1, 29)), None, "2015-02-01"),
            "who": people(30),
        },
        notes={"on": "0000-00-00|missing"},
    ),
    "end of time": OpenCase(
        column("until", "2015-12-31", "9999-12-31", "2016-02-01", "9999-12-31"),
        {
            "until": date("2015-12-31", "9999-12-31", "2016-02-01", "9999-12-31"),
            "who": people(4),
        },
        free=("until",),
        others=(
            {
                "columns": {
                    "until": date("2015-12-31", None, "2016-02-01", None),
                    "who": people(4),
                },
                "notes": {"until": "9999|missing"},
            },
            {"error": "until"},
        ),
    ),
    "dates before 1700": OpenCase(
        column("born", "1564-04-26", "1616-04-23", "1685-03-21"),
        {"born": date("1564-04-26", "1616-04-23", "1685-03-21"), "who": people(3)},
        free=("born",),
        others=(text("born", "1564-04-26", "1616-04-23", "1685-03-21"),),
    ),
    "dates and marks": OpenCase(
        column("on", "31.12.2015", "-", "28.02.1950", "", "1.2.2016"),
        {
            "on": date("2015-12-31", None, "1950-02-28", None, "2016-02-01"),
            "who": people(5),
        },
        free=("on",),
    ),
    "weekdays": OpenCase(
        column("on", "Mon 05 Jan 2015", "Tue 06 Jan 2015"),
        {"on": date("2015-01-05", "2015-01-06"), "who": people(2)},
        free=("on",),
        others=(text("on", "Mon 05 Jan 2015", "Tue 06 Jan 2015"),),
    ),
    "May is a name": Case(
        column("first", "May", "June", "April", "May"),
        columns("first", "May", "June", "April", "May"),
    ),
}

MISSING = {
    **{
        f"missing: {mark!r}": with_mark(mark)
        for mark in (
            *("?", ".", "-", "--", "n/a", "NA", "N/A", "#N/A", "NULL", "null", "nan"),
            *("NaN", "None", " ", "", "unknown", "\\N", "missing"),
        )
    },
    "-999 is a number": OpenCase(
        column("t", "12.5", "-999", "13.1", "11.2", "-999"),
        columns("t", 12.5, -999, 13.1, 11.2, -999),
        free=("t",),
    ),
    "-999 is missing": OpenCase(
        column("t", "12.5", "-999", "13.1", "11.2", "-999"),
        columns("t", 12.5, None, 13.1, 11.2, None),
        options={"missing": ["-999"]},
        free=("t",),
    ),
    "two marks": OpenCase(
        column("t", "12.5", "NA", "13.1", "?", "11.2", ""),
        columns("t", 12.5, None, 13.1, None, 11.2, None),
        free=("t",),
    ),
    "marks among text": OpenCase(
        "smoker,age\nyes,34\nunknown,28\nno,41\n-,55\n,60\n",
        {"smoker": ["yes", "unknown", "no", "-", None], "age": [34, 28, 41, 55, 60]},
        free=("smoker",),
    ),
    "country NA": OpenCase(
        "country,age\nDE,34\nNA,28\nFR,41\n",
        {"country": ["DE", "NA", "FR"], "age": [34, 28, 41]},
        free=("country",),
    ),
    "a slip among numbers": OpenCase(
        column("h", *(str(h) if h != HEIGHTS[9] else "16o.5" for h in HEIGHTS)),
        columns("h", *(h if h != HEIGHTS[9] else None for h in HEIGHTS)),
        notes={"h": "16o.5|record 10"},
    ),
    "few numbers and a word": OpenCase(
        column("room", "12", "14", "attic", "3"),
        columns("room", "12", "14", "attic", "3"),
        free=("room",),
    ),
    "blanks around": OpenCase(
        "a,b\n 1 , x \n2, y\n 3,z \n",
        {"a": [1, 2, 3], "b": ["x", "y", "z"]},
        free=("b",),
        others=(
            {"columns": {"a": [1, 2, 3], "b": [" x ", " y", "z "]}, "free": ("b",)},
        ),
    ),
    "one column empty": OpenCase(
        "age,note,sex\n34,,f\n28,,m\n",
        {"age": [34, 28], "note": [None] * 2, "sex": ["f", "m"]},
        free=("note",),
    ),
}

QUOTES = {
    "single quotes": OpenCase(
        "name,age\n'Smith, John',34\n'Doe, Jane',28\n",
        {"name": ["Smith, John", "Doe, Jane"], "age": [34, 28]},
        free=("name", None),
        others=({"error": "line 2"},),
    ),
    "quotes in quotes": Case(
        'name,age\n"Joe ""Big"" Roe",34\n"""Al""",28\n',
        {"name": ['Joe "Big" Roe', '"Al"'], "age": [34, 28]},
    ),
    "apostrophes": Case(
        "name,town\nO'Brien,'s-Hertogenbosch\nD'Arcy,Land's End\n'Abd,Bonn\n",
        {
            "name": ["O'Brien", "D'Arcy", "'Abd"],
            "town": ["'s-Hertogenbosch", "Land's End", "Bonn"],
        },
    ),
    "inches": OpenCase(
        'item,size,n\nTV,42",1\nphone,6",2\nwall,100",3\n',
        {"item": ["TV", "phone", "wall"], "size": [42, 6, 100], "n": [1, 2, 3]},
        free=("size",),
        others=(
            {
                "columns": {
                    "item": ["TV", "phone", "wall"],
                    "size": ['42"', '6"', '100"'],
                    "n": [1, 2, 3],
                },
                "free": ("size",),
            },
            {"error": "quot|line"},
        ),
    ),
    "text after a quoted part": OpenCase(
        'name,age\n"Big" Joe,34\n"Al" Roe,28\n',
        {"name": ['"Big" Joe', '"Al" Roe'], "age": [34, 28]},
        free=("name", None),
        others=(
            {"error": "quot|line 2"},
            {
                "columns": {"name": ["Big Joe", "Al Roe"], "age": [34, 28]},
                "free": ("name", None),
            },
        ),
    ),
    "backslashes before quotes": OpenCase(
        'says,age\n"He said \\"hi\\"",34\n"plain",28\n',
        {"says": ['He said "hi"', "plain"], "age": [34, 28]},
        free=("says", None),
        others=(
            {"error": "quot|line 2"},
            {
                "columns": {"says": ['He said \\"hi\\"', "plain"], "age": [34, 28]},
                "free": ("says", None),
            },
        ),
    ),
    "lines in quotes": OpenCase(
        '"name,age"\n"Ann,34"\n"Bob,28"\n',
        {"name,age": ["Ann,34", "Bob,28"]},
        free=("name,age", None),
        others=(
            {"columns": {"name": ["Ann", "Bob"], "age": [34, 28]}, "free": (None,)},
            {"error": "."},
        ),
    ),
    "everything in quotes": Case(
        '"name","age","on"\n"Ann","34","2015-12-31"\n"Bob","28","2016-02-01"\n',
        {
            "name": ["Ann", "Bob"],
            "age": [34, 28],
            "on": date("2015-12-31", "2016-02-01"),
        },
    ),
    "a quote that stands alone": OpenCase(
        'name,age\nAnn,34\n"Bob,28\nCleo,41\nDan,35\n',
        error="quot|line 3",
    ),
}

NAMES = {"name": ["Müller", "José", "Zoë"], "größe": [1.5, 2.25, 3.5]}
NAMES_FILE = "name,größe\nMüller,1.5\nJosé,2.25\nZoë,3.5\n"
ENCODINGS = {
    "UTF-8 with a mark": Case(NAMES_FILE.encode("utf-8-sig"), NAMES),
    "UTF-8, mark, first name in quotes": Case(
        '\ufeff"name","age"\n"Ann",3\n"Bob",4\n',
        {"name": ["Ann", "Bob"], "age": [3, 4]},
    ),
    "UTF-16, tabs": Case(
        NAMES_FILE.replace(",", "\t").encode("utf-16"), NAMES, name="t.txt"
    ),
    "UTF-16, big end first": Case(
        b"\xfe\xff" + NAMES_FILE.replace("\n", "\r\n").encode("utf-16-be"), NAMES
    ),
    "UTF-16 that does not say so": OpenCase(
        NAMES_FILE.encode("utf-16-le"), NAMES, free=(None,), others=({"error": "."},)
    ),
    "Windows-1252 with dashes": OpenCase(
        "name,größe\nMüller \u2013 Sohn,1.5\nJosé,2.25\nZoë\u2019s,3.5\n".encode(
            "cp1252"
        ),
        {**NAMES, "name": ["Müller \u2013 Sohn", "José", "Zoë\u2019s"]},
        free=(None,),
    ),
    "Latin-1": OpenCase(NAMES_FILE.encode("latin-1"), NAMES, free=(None,)),
    "another encoding": OpenCase(
        "name,n\nŁukasz,1\nŻaneta,2\n".encode("cp1250"),
        {"name": ["Łukasz", "Żaneta"], "n": [1, 2]},
        options={"encoding": "cp1250"},
    ),
    "UTF-8 names": Case(
        "姓名,возраст\n王芳,34\nŁukasz,28\nZoë 😀,41\n",
        {"姓名": ["王芳", "Łukasz", "Zoë 😀"], "возраст": [34, 28, 41]},
    ),
    "UTF-8 and one byte that is not": OpenCase(
        "name,n\nMüller,1\nJosé,2\nZoë,3\n".encode() + b"Andr\xe9,4\n",
        error="UTF|encod|utf|line 5",
        others=(
            {
                "columns": {
                    "name": ["Müller", "José", "Zoë", "André"],
                    "n": [1, 2, 3, 4],
                },
                "notes": {None: "."},
            },
            {
                "columns": {
                    "name": ["MÃ¼ller", "JosÃ©", "ZoÃ«", "André"],
                    "n": [1, 2, 3, 4],
                },
                "notes": {None: "encod|UTF|Windows"},
            },
        ),
    ),
}

LINES = {
    "last line cut": Case("a,b,c\n1,2,3\n4,5,6\n7,8", error=r"line 4\b"),
    "long line": Case("a,b\n1,2\n3,4,5\n6,7\n", error=r"line 3\b"),
    "short line": Case("a,b,c\n1,2,3\n4,5\n7,8,9\n", error=r"line 3\b"),
    "cut in quotes": Case('name,age\nAnn,34\n"Bob, the bui', error="quot|line 3"),
    "long line after a line break in quotes": Case(
        'a,b\n"x\ny",2\n3,4\n5,6,7\n', error=r"line 5\b"
    ),
    "words after the data": OpenCase(
        "a,b\n1,2\n3,4\n\n(2 rows affected)\n", error=r"line 5\b"
    ),
    "header again in the middle": OpenCase(
        "a,b\n1,x\n2,y\na,b\n3,z\n",
        {"a": ["1", "2", "a", "3"], "b": ["x", "y", "b", "z"]},
        free=("a", "b", None),
        others=({"error": "line 4"},),
    ),
    "blank lines at the end": Case(
        "a,b\n1,x\n2,y\n\n\n\n", {"a": [1, 2], "b": ["x", "y"]}
    ),
    "blank line in the middle": OpenCase(
        "a,b\n1,x\n\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}, free=(None,)
    ),
    "blank lines at the start": OpenCase(
        "\n\na,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}, free=(None,)
    ),
    "lines of blanks at the end": OpenCase(
        "a,b\n1,x\n2,y\n  \n\t\n", {"a": [1, 2], "b": ["x", "y"]}, free=(None,)
    ),
    "lines of separators at the end": OpenCase(
        "a,b,c\n1,x,3\n2,y,4\n,,\n,,\n",
        {"a": [1, 2], "b": ["x", "y"], "c": [3, 4]},
        free=(None,),
        others=(
            {
                "columns": {
                    "a": [1, 2, None, None],
                    "b": ["x", "y", None, None],
                    "c": [3, 4, None, None],
                },
                "free": (None, "a", "b", "c"),
            },
        ),
    ),
    "one column with a blank line": OpenCase(
        "age\n34\n\n28\n",
        {"age": [34, 28]},
        free=(None, "age"),
        others=({"columns": {"age": [34, None, 28]}, "free": (None, "age")},),
    ),
    "CRLF": Case("a,b\r\n1,x\r\n2,y\r\n", {"a": [1, 2], "b": ["x", "y"]}),
    "CR": Case("a,b\r1,x\r2,y\r", {"a": [1, 2], "b": ["x", "y"]}),
    "line ends mixed": Case(
        "a,b\r\n1,x\n2,y\r\n3,z", {"a": [1, 2, 3], "b": ["x", "y", "z"]}
    ),
    "no line end": Case("a,b\n1,x\n2,y", {"a": [1, 2], "b": ["x", "y"]}),
    "end of file mark": OpenCase(
        "a,b\n1,x\n2,y\n\x1a",
        {"a": [1, 2], "b": ["x", "y"]},
        free=(None,),
        others=({"error": "line 4"},),
    ),
    "empty file": Case("", error="empty|no "),
    "mark of encoding only": Case(b"\xef\xbb\xbf", error="empty|no "),
    "blank lines only": Case("\n\n  \n", error="empty|no "),
    "header only": OpenCase("a,b\n", error="empty|no |record"),
    "one row": Case("a,b\n1,x\n", {"a": [1], "b": ["x"]}),
    "a page instead of data": OpenCase(
        "<!DOCTYPE html>\n<html><head><title>Log in</title></head>\n"
        "<body><p>Please, log in, first.</p>\n</body></html>\n",
        error=".",
    ),
}

RANDOM_PHONES = ["0301234567", "08912345", "0171555123", "04012399"]
IDENTIFIERS = {
    "customer numbers": OpenCase(
        column("customer", *map(str, SCATTERED)),
        columns("customer", *SCATTERED),
        free=("customer",),
    ),
    "phones with a zero": OpenCase(
        column("phone", *RANDOM_PHONES),
        columns("phone", *RANDOM_PHONES),
        free=("phone",),
    ),
    "phones with a plus and spaces": Case(
        column("phone", "+49 30 123456", "+1 555 010 9999", "+41 44 668 18 00"),
        columns("phone", "+49 30 123456", "+1 555 010 9999", "+41 44 668 18 00"),
    ),
    "phones with a plus": OpenCase(
        column("phone", "+4930123456", "+15550109999", "+41446681800"),
        columns("phone", "+4930123456", "+15550109999", "+41446681800"),
        free=("phone",),
        others=(
            {
                "columns": columns("phone", 4930123456, 15550109999, 41446681800),
                "notes": {"phone": "identif"},
            },
        ),
    ),
    "phones with hyphens": Case(
        column("phone", "555-123-4567", "555-010-9999"),
        columns("phone", "555-123-4567", "555-010-9999"),
    ),
    "phones with parentheses": Case(
        column("phone", "(030) 123456", "(089) 999", "(040) 12399"),
        columns("phone", "(030) 123456", "(089) 999", "(040) 12399"),
    ),
    "postal codes": OpenCase(
        column("zip", "01067", "80331", "10115", "99084"),
        columns("zip", "01067", "80331", "10115", "99084"),
        free=("zip",),
    ),
    "postal codes of nine digits": Case(
        column("zip", "02139-4307", "80331-1111"),
        columns("zip", "02139-4307", "80331-1111"),
    ),
    "UUIDs": Case(
        column(
            "key",
            "123e4567-e89b-12d3-a456-426614174000",
            "00000000-0000-4000-8000-000000000001",
        ),
        columns(
            "key",
            "123e4567-e89b-12d3-a456-426614174000",
            "00000000-0000-4000-8000-000000000001",
        ),
    ),
    "hexadecimal": Case(
        column("hash", "12345678", "1234567e", "5e100000", "00ff12ab"),
        columns("hash", "12345678", "1234567e", "5e100000", "00ff12ab"),
    ),
    "nineteen digits": OpenCase(
        column("tweet", "1234567890123456789", "1234567890123456790"),
        columns("tweet", "1234567890123456789", "1234567890123456790"),
        free=("tweet",),
        others=(
            {
                "columns": columns("tweet", 1234567890123456789, 1234567890123456790),
                "free": ("tweet",),
            },
        ),
    ),
    "card numbers in groups": OpenCase(
        column("card", "4111 1111 1111 1111", "5500 0000 0000 0004"),
        columns("card", "4111 1111 1111 1111", "5500 0000 0000 0004"),
        free=("card",),
    ),
    "IP addresses": Case(
        column("ip", "192.168.100.200", "10.0.0.1", "127.0.0.1"),
        columns("ip", "192.168.100.200", "10.0.0.1", "127.0.0.1"),
    ),
    "versions": Case(
        column("v", "1.2.3", "2.10.0", "1.12.11", "3.1.4"),
        columns("v", "1.2.3", "2.10.0", "1.12.11", "3.1.4"),
    ),
    "diagnoses": Case(
        column("icd", "E11.9", "I10", "C50.1", "E10"),
        columns("icd", "E11.9", "I10", "C50.1", "E10"),
    ),
    "numbers of books": Case(
        column("isbn", "080442957X", "0306406152", "0198526636"),
        columns("isbn", "080442957X", "0306406152", "0198526636"),
    ),
    "social security": Case(
        column("ssn", "123-45-6789", "078-05-1120"),
        columns("ssn", "123-45-6789", "078-05-1120"),
    ),
    "places": Case(
        column("place", "48.137, 11.575", "52.520, 13.405"),
        columns("place", "48.137, 11.575", "52.520, 13.405"),
    ),
}

LABEL = {"label": "y"}


def label(*cells):
    return "x,y\n" + "".join(f"{i % 3}.5,{cell}\n" for i, cell in enumerate(cells))


def labelled(*values):
    return {"x": [i % 3 + 0.5 for i in range(len(values))], "y": list(values)}


LABELS = {
    "classes 0 and 1": Case(
        label("0", "1", "1", "0"), labelled(0, 1, 1, 0), options=LABEL
    ),
    "classes yes and no": Case(
        label("yes", "no", "no", "yes"),
        labelled("yes", "no", "no", "yes"),
        options=LABEL,
    ),
    "class None": OpenCase(
        label("None", "Mild", "Severe", "None"),
        labelled("None", "Mild", "Severe", "None"),
        options=LABEL,
        free=("y",),
    ),
    "class NA in quotes": OpenCase(
        label('"NA"', '"EU"', '"AS"', '"NA"'),
        labelled("NA", "EU", "AS", "NA"),
        options=LABEL,
        free=("y",),
    ),
    "class null": OpenCase(
        label("null", "one", "two", "null"),
        labelled("null", "one", "two", "null"),
        options=LABEL,
        free=("y",),
    ),
    "true and false": OpenCase(
        label("true", "false", "false", "true"),
        labelled("true", "false", "false", "true"),
        options=LABEL,
        others=({"columns": labelled(True, False, False, True)},),
    ),
    "TRUE and FALSE, not the label": OpenCase(
        label("TRUE", "FALSE", "FALSE", "TRUE"),
        labelled("TRUE", "FALSE", "FALSE", "TRUE"),
        others=({"columns": labelled(True, False, False, True)},),
    ),
    "label with blanks": OpenCase(
        label("yes", "", "no", "yes"),
        labelled("yes", None, "no", "yes"),
        options=LABEL,
        free=("y",),
    ),
    "label of numbers with blanks": OpenCase(
        label("1", "", "0", "1"), labelled(1, None, 0, 1), options=LABEL, free=("y",)
    ),
    "label plus and minus": OpenCase(
        label("+", "-", "-", "+"),
        labelled("+", "-", "-", "+"),
        options=LABEL,
        free=("y",),
    ),
    "label with a question mark": OpenCase(
        label("1", "?", "0", "1"),
        labelled("1", "?", "0", "1"),
        options=LABEL,
        notes={"y": r"\?"},
        others=({"columns": labelled(1, None, 0, 1), "notes": {"y": r"\?"}},),
    ),
    "label with NA among numbers": OpenCase(
        label("1", "NA", "0", "1"),
        labelled("1", "NA", "0", "1"),
        options=LABEL,
        notes={"y": "NA"},
        others=({"columns": labelled(1, None, 0, 1), "notes": {"y": "NA"}},),
    ),
    "quantity with NA": OpenCase(
        "x,y\n" + "".join(f"{i % 3},{h}\n" for i, h in enumerate([*HEIGHTS, "NA"])),
        {"x": [i % 3 for i in range(25)], "y": [*HEIGHTS, None]},
        options=LABEL,
        notes={"y": "NA"},
        others=(
            {
                "columns": {
                    "x": [i % 3 for i in range(25)],
                    "y": [*map(str, HEIGHTS), "NA"],
                },
                "notes": {"y": "NA"},
            },
        ),
    ),
    "label of incomes": Case(
        label("<=50K", ">50K", "<=50K"),
        labelled("<=50K", ">50K", "<=50K"),
        options=LABEL,
    ),
    "label with leading zeros": OpenCase(
        label("01", "02", "10", "01"),
        labelled("01", "02", "10", "01"),
        options=LABEL,
        free=("y",),
    ),
    "label with blanks around": OpenCase(
        label(" yes", " no", " no", " yes"),
        labelled("yes", "no", "no", "yes"),
        options=LABEL,
        free=("y",),
        others=({"columns": labelled(" yes", " no", " no", " yes"), "free": ("y",)},),
    ),
    "label with blanks around some": OpenCase(
        label("yes", " no", "no", "yes "),
        labelled("yes", "no", "no", "yes"),
        options=LABEL,
        free=("y",),
        others=(
            {"columns": labelled("yes", " no", "no", "yes "), "notes": {"y": "."}},
        ),
    ),
    "quantity with decimal commas": OpenCase(
        "x;y\na;1,5\nb;2,25\na;3,75\n",
        {"x": ["a", "b", "a"], "y": [1.5, 2.25, 3.75]},
        options=LABEL,
        free=("y",),
    ),
}

UNNAMED = ("", "Unnamed: 0", "column 1", "column_1", "Column 1", "1", "0")
COLUMNS = {
    "constant": Case(
        "a,b,c\n1,x,5\n1,x,6\n", {"a": [1, 1], "b": ["x"] * 2, "c": [5, 6]}
    ),
    "name twice": Case("age,sex,age\n1,f,2\n3,m,4\n", error="age"),
    "name twice but for blanks": OpenCase(
        "age,sex, age\n1,f,2\n3,m,4\n",
        error="age",
        others=({"columns": {"age": [1, 3], "sex": ["f", "m"], " age": [2, 4]}},),
    ),
    "name twice but for case": Case(
        "age,Age\n1,2.5\n3,4.5\n", {"age": [1, 3], "Age": [2.5, 4.5]}
    ),
    "names that a reader could make up": OpenCase(
        "a,a.1,b\n1,2,3\n4,5,6\n", {"a": [1, 4], "a.1": [2, 5], "b": [3, 6]}
    ),
    "first column without a name": OpenCase(
        ",a,b\n0,1,x\n1,3,y\n2,4,z\n",
        error="name|column",
        others=tuple(
            {
                "columns": {name: [0, 1, 2], "a": [1, 3, 4], "b": ["x", "y", "z"]},
                "free": (name, None),
            }
            for name in UNNAMED
        ),
    ),
    "two columns without a name": OpenCase(
        "a,,\n1,x,7\n3,y,8\n",
        error="name|column",
        others=tuple(
            {
                "columns": {
                    "a": [1, 3],
                    f"{word}{i}": ["x", "y"],
                    f"{word}{j}": [7, 8],
                },
                "free": (f"{word}{i}", f"{word}{j}", None),
            }
            for word in ("Unnamed: ", "column ", "column_", "Column ", "")
            for i, j in ((1, 2), (2, 3))
        ),
    ),
    "years as names": Case(
        "town,2014,2015\nBonn,1.5,2.5\nUlm,3.5,4.5\n",
        {"town": ["Bonn", "Ulm"], "2014": [1.5, 3.5], "2015": [2.5, 4.5]},
    ),
    "no names": OpenCase(
        "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n",
        {"5.1": [4.9, 6.3], "3.5": [3, 3.3], "setosa": ["setosa", "virginica"]},
        free=(None, "5.1", "3.5", "setosa"),
        others=({"error": "name|header"},),
    ),
}

XLSX = {
    "Excel of all types": OpenCase(
        workbook(
            [
                ["name", "born", "pay", "zip", "n"],
                ["Ann", DATE(1980, 12, 31), 12.5, "01067", 1],
                ["NA", DATE(1990, 2, 1), None, "80331", 2],
                [None, None, 7, "10115", 3],
            ]
        ),
        {
            "name": ["Ann", "NA", None],
            "born": date("1980-12-31", "1990-02-01", None),
            "pay": [12.5, None, 7],
            "zip": ["01067", "80331", "10115"],
            "n": [1, 2, 3],
        },
        name="t.xlsx",
        free=(
            "name",
            "zip",
        ),
    ),
    "Excel with several sheets": OpenCase(
        workbook([["a", "b"], [1, "x"], [2, "y"]], [["c"], [5]]),
        {"a": [1, 2], "b": ["x", "y"]},
        name="t.xlsx",
        free=(None,),
    ),
    "Excel whose first sheet is empty": OpenCase(
        workbook([], [["a", "b"], [1, "x"], [2, "y"]]),
        error="empty|no |sheet",
        others=({"columns": {"a": [1, 2], "b": ["x", "y"]}, "notes": {None: "."}},),
        name="t.xlsx",
    ),
    "Excel with a title and a gap": OpenCase(
        workbook([["Patients of 2015"], [], ["name", "age"], ["Ann", 34], ["Bob", 28]]),
        error="name|column|title|header|row",
        others=(
            {
                "columns": {"name": ["Ann", "Bob"], "age": [34, 28]},
                "notes": {None: "."},
            },
        ),
        name="t.xlsx",
    ),
    "Excel with empty rows": OpenCase(
        workbook([["a", "b"], [1, "x"], [None, None], [2, "y"], ["", " "]]),
        {"a": [1, 2], "b": ["x", "y"]},
        name="t.xlsx",
        free=(None,),
        others=(
            {
                "columns": {"a": [1, None, 2, None], "b": ["x", None, "y", None]},
                "free": (None, "a", "b"),
            },
        ),
    ),
    "Excel with a name twice": Case(
        workbook([["age", "sex", "age"], [1, "f", 2], [3, "m", 4]]),
        error="age",
        name="t.xlsx",
    ),
    "Excel with numbers as text": OpenCase(
        workbook([["pay", "who"], ["1,234.50", "Ann"], ["12.00", "Bob"], [7, "Cleo"]]),
        {"pay": [1234.5, 12, 7], "who": ["Ann", "Bob", "Cleo"]},
        name="t.xlsx",
        free=("pay",),
    ),
    "Excel with dates as text": OpenCase(
        workbook(
            [["on", "n"], ["31.12.2015", 1], [DATE(2016, 2, 1), 2], ["28.02.2016", 3]]
        ),
        {"on": date("2015-12-31", "2016-02-01", "2016-02-28"), "n": [1, 2, 3]},
        name="t.xlsx",
        free=("on",),
        others=(
            {"error": "on"},
            {
                "columns": {
                    "on": ["31.12.2015", "2016-02-01 00:00:00", "28.02.2016"],
                    "n": [1, 2, 3],
                },
                "notes": {"on": "."},
            },
        ),
    ),
    "Excel with truth values": OpenCase(
        workbook([["a", "y"], [1.5, True], [2.5, False], [2, True]]),
        {"a": [1.5, 2.5, 2], "y": [True, False, True]},
        name="t.xlsx",
        others=(
            {"columns": {"a": [1.5, 2.5, 2], "y": ["True", "False", "True"]}},
            {"columns": {"a": [1.5, 2.5, 2], "y": ["TRUE", "FALSE", "TRUE"]}},
        ),
    ),
    "Excel with years as names": Case(
        workbook([["town", 2014, 2015], ["Bonn", 1.5, 2.5], ["Ulm", 3.5, 4.5]]),
        {"town": ["Bonn", "Ulm"], "2014": [1.5, 3.5], "2015": [2.5, 4.5]},
        name="t.xlsx",
    ),
    "Excel with codes and numbers": Case(
        workbook([["code", "n"], ["A1", 1], [12, 2], ["007", 3]]),
        {"code": ["A1", "12", "007"], "n": [1, 2, 3]},
        name="t.xlsx",
    ),
    "Excel with marks": OpenCase(
        workbook([["t", "n"], [12.5, 1], ["n/a", 2], ["-", 3], [13.5, 4], [11, 5]]),
        {"t": [12.5, None, None, 13.5, 11], "n": [1, 2, 3, 4, 5]},
        name="t.xlsx",
        free=("t",),
    ),
    "Excel, no rows": OpenCase(
        workbook([["a", "b"]]), error="empty|no |record|row", name="t.xlsx"
    ),
    "Excel that is text": OpenCase(
        "a,b\n1,x\n2,y\n",
        error=".",
        name="t.xlsx",
        others=({"columns": {"a": [1, 2], "b": ["x", "y"]}, "free": (None,)},),
    ),
    "text that is Excel": OpenCase(
        workbook([["a", "b"], [1, "x"], [2, "y"]]),
        error=".",
        others=({"columns": {"a": [1, 2], "b": ["x", "y"]}, "free": (None,)},),
    ),
}

FRAME = pd.DataFrame(
    {
        "name": ["Ann", "NA", None],
        "on": pd.to_datetime(["2015-12-31", None, "2016-02-01"]),
        "n": pd.array([1, None, 3], dtype="Int64"),
        "x": [1.5, 2.5, None],
        "ok": [True, False, True],
    }
)
FILES = {
    "Parquet": OpenCase(
        parquet(FRAME),
        {
            "name": ["Ann", "NA", None],
            "on": date("2015-12-31", None, "2016-02-01"),
            "n": [1, None, 3],
            "x": [1.5, 2.5, None],
            "ok": [True, False, True],
        },
        name="t.parquet",
        free=("name",),
    ),
    "Parquet with dates and decimals": OpenCase(
        parquet(
            pd.DataFrame(
                {
                    "on": [datetime.date(2015, 12, 31), datetime.date(2016, 2, 1)],
                    "pay": [Decimal("12.50"), Decimal("7.25")],
                    "k": pd.Categorical(["u", "v"]),
                }
            )
        ),
        {"on": date("2015-12-31", "2016-02-01"), "pay": [12.5, 7.25], "k": ["u", "v"]},
        name="t.parquet",
        others=(
            {
                "columns": {
                    "on": [datetime.date(2015, 12, 31), datetime.date(2016, 2, 1)],
                    "pay": [Decimal("12.50"), Decimal("7.25")],
                    "k": ["u", "v"],
                }
            },
        ),
    ),
    "Parquet with text that looks like numbers": OpenCase(
        parquet(pd.DataFrame({"zip": ["01067", "80331"], "t": ["1.5", "2.5"]})),
        {"zip": ["01067", "80331"], "t": ["1.5", "2.5"]},
        name="t.parquet",
        free=("t", "zip"),
        others=(
            {
                "columns": {"zip": ["01067", "80331"], "t": [1.5, 2.5]},
                "free": ("t", "zip"),
            },
        ),
    ),
    "Parquet with names of rows": OpenCase(
        parquet(pd.DataFrame({"a": [1, 2]}, index=pd.Index([70, 50], name="key"))),
        {"key": [70, 50], "a": [1, 2]},
        name="t.parquet",
        free=("key", None),
        others=(
            {"columns": {"a": [1, 2]}, "free": (None,)},
            {"columns": {"a": [1, 2], "key": [70, 50]}, "free": ("key", None)},
        ),
    ),
    "Parquet cut": Case(parquet(FRAME)[:-20], error=".", name="t.parquet"),
    "gzip of semicolons": OpenCase(
        gzip.compress(b"a;b\n1,5;x\n2,5;y\n"),
        {"a": [1.5, 2.5], "b": ["x", "y"]},
        name="t.csv.gz",
        free=("a",),
    ),
    "gzip of tabs": Case(
        gzip.compress("name\tn\nZoë\t1\nBob\t2\n".encode()),
        {"name": ["Zoë", "Bob"], "n": [1, 2]},
        name="t.tsv.gz",
    ),
    "gzip cut": Case(
        gzip.compress(b"a,b\n" + b"1,x\n2,y\n" * 500)[:-12], error=".", name="t.csv.gz"
    ),
    "gzip that is text": OpenCase(
        "a,b\n1,x\n2,y\n",
        error=".",
        name="t.csv.gz",
        others=({"columns": {"a": [1, 2], "b": ["x", "y"]}, "free": (None,)},),
    ),
    "text that is gzip": OpenCase(
        gzip.compress(b"a,b\n1,x\n2,y\n"),
        error=".",
        others=({"columns": {"a": [1, 2], "b": ["x", "y"]}, "free": (None,)},),
    ),
    "capitals in the name of the file": Case(
        "a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}, name="DATA.CSV"
    ),
    "another ending": OpenCase(
        "a,b\n1,x\n2,y\n",
        {"a": [1, 2], "b": ["x", "y"]},
        name="t.dat",
        free=(None,),
        others=({"error": "dat|csv"},),
    ),
    "tabs in a file that says commas": Case(
        "a\tb\n1\tx\n2\ty\n", {"a": [1, 2], "b": ["x", "y"]}
    ),
    "commas in a file that says tabs": OpenCase(
        "a,b\n1,x\n2,y\n",
        {"a": [1, 2], "b": ["x", "y"]},
        name="t.tsv",
        free=(None,),
        others=({"error": "."},),
    ),
}

ODD_TEXT = {
    **{
        title: OpenCase(column("c", *cells), columns("c", *cells), free=("c",))
        for title, cells in {
            "codes with a letter": ("A1", "B12", "A7", "C3"),
            "ordinals": ("1st", "2nd", "3rd", "4th"),
            "numbers with underscores": ("1_000", "2_500", "12_34", "7_1"),
            "first names that look missing": ("Nan", "Nana", "Null", "None"),
            "weeks": ("2015-W05", "2015-W06", "2016-W01"),
            "results": ("1/2", "3/4", "2/4", "1/2"),
            "phones with spaces and zeros": ("030 123 456", "089 123 456", "040 1"),
            "phones in groups of three with zeros": ("030 123 456", "089 123 456"),
            "twenty digits": ("12345678901234567890", "12345678901234567891"),
            "numbers and a letter": ("12a", "14", "14b", "3"),
            "blood groups": ("A+", "0-", "AB-", "B+"),
            "grades": ("1+", "2-", "3", "1-"),
            "sizes": ("3x5", "10x15", "13x18"),
            "plates": ("B-AB 123", "M-XY 9", "HH-A 77"),
            "domains": ("a.b.c", "d.e", "1.a"),
            "ranges of pay": ("1,000-2,000", "2,000-3,000", "1,000-2,000"),
            "emphasis": ("*5", "6", "*7", "8"),
        }.items()
    },
    "codes with one letter": OpenCase(
        column("stage", "T1", "T2", "T3", "T1"),
        columns("stage", "T1", "T2", "T3", "T1"),
        free=("stage",),
        others=({"columns": columns("stage", 1, 2, 3, 1), "notes": {"stage": "T"}},),
    ),
    "groups of three without zeros": OpenCase(
        column("phone", "555 010 999", "212 555 012"),
        columns("phone", "555 010 999", "212 555 012"),
        free=("phone",),
        others=(
            {
                "columns": columns("phone", 555010999, 212555012),
                "notes": {"phone": "thousand"},
            },
        ),
    ),
    "a very long text": Case(
        "a,b\n" + "x" * 200_000 + ",1\ny,2\n", {"a": ["x" * 200_000, "y"], "b": [1, 2]}
    ),
    "a character that is zero": OpenCase(
        "a,b\nx,1\ny\0z,2\n",
        error=".",
        others=({"columns": {"a": ["x", "y\0z"], "b": [1, 2]}, "free": ("a", None)},),
    ),
    "line ends of Windows within quotes": OpenCase(
        'a,b\r\n"x\r\ny",1\r\nz,2\r\n',
        {"a": ["x\r\ny", "z"], "b": [1, 2]},
        others=({"columns": {"a": ["x\ny", "z"], "b": [1, 2]}},),
    ),
    "columns separated by spaces": OpenCase(
        "a b c\n1 2 3\n4 5 6\n7 8 9\n",
        {"a": [1, 4, 7], "b": [2, 5, 8], "c": [3, 6, 9]},
        name="t.txt",
        free=(None,),
        others=(
            {"error": "separator|sep"},
            {"columns": {"a b c": ["1 2 3", "4 5 6", "7 8 9"]}, "notes": {None: "."}},
            {
                "columns": {"a b c": ["1 2 3", "4 5 6", "7 8 9"]},
                "notes": {"a b c": "."},
            },
        ),
    ),
}

NUMBERS_BY_CONTEXT = {
    "points twice for thousands": OpenCase(
        semicolons("n", "1.234.567", "987", "12.345"),
        columns("n", 1234567, 987, 12345),
        free=("n",),
    ),
    "commas for thousands, another column tells": OpenCase(
        'n,m\n"1,234","1,234.5"\n"12,345","7.25"\n987,"3.5"\n',
        {"n": [1234, 12345, 987], "m": [1234.5, 7.25, 3.5]},
        free=("n", "m"),
    ),
    "one value shows that the comma is for decimals": OpenCase(
        semicolons("x", "0,5", "1,234", "12,345"),
        columns("x", 0.5, 1.234, 12.345),
        free=("x",),
    ),
    "one value shows that the point is for decimals": OpenCase(
        semicolons("x", "1.5", "1.234", "12.345"),
        columns("x", 1.5, 1.234, 12.345),
        free=("x",),
    ),
    "four digits before the comma": OpenCase(
        semicolons("x", "1234,567", "1,234", "12,345"),
        columns("x", 1234.567, 1.234, 12.345),
        free=("x",),
    ),
    "points for thousands and commas, not together": OpenCase(
        semicolons("x", "12.345", "1,5", "987"),
        columns("x", 12345, 1.5, 987),
        free=("x",),
        others=(
            {"columns": columns("x", "12.345", "1,5", "987"), "notes": {"x": "."}},
        ),
    ),
    "spaces for thousands in a file with commas": OpenCase(
        column("n", "1 234", "987", "12 345 678"),
        columns("n", 1234, 987, 12345678),
        free=("n",),
    ),
    "a space that does not break at the end": OpenCase(
        column("n", "12\u00a0", "13", "\u00a014"), columns("n", 12, 13, 14), free=("n",)
    ),
    "negative amounts with thousands and a sign at the front": OpenCase(
        semicolons("n", "-1.234,50", "+2.000,00", "-0,75"),
        columns("n", -1234.5, 2000, -0.75),
        free=("n",),
    ),
    "crowns": OpenCase(
        semicolons("pay", "1 234,50 kr", "12,00 kr", "5,25 kr"),
        columns("pay", 1234.5, 12, 5.25),
        free=("pay",),
    ),
    "francs": OpenCase(
        column("pay", "CHF 1'200.50", "CHF 12.00", "CHF 999.95"),
        columns("pay", 1200.5, 12, 999.95),
        free=("pay",),
    ),
    "unit in some cells": OpenCase(
        column("w", "70 kg", "65", "80 kg", "71"),
        columns("w", 70, 65, 80, 71),
        notes={"w": "kg|unit"},
        others=(
            {"columns": columns("w", "70 kg", "65", "80 kg", "71"), "free": ("w",)},
        ),
    ),
    "degrees": OpenCase(
        column("t", "36.6 °C", "37.2 °C", "-1.5 °C"),
        columns("t", 36.6, 37.2, -1.5),
        free=("t",),
    ),
    "squares": OpenCase(
        column("area", "70 m²", "65.5 m²", "80 m²"),
        columns("area", 70, 65.5, 80),
        free=("area",),
        others=(text("area", "70 m²", "65.5 m²", "80 m²"),),
    ),
    "seconds since 1970": OpenCase(
        column("at", "1451520000", "1454284800", "1456704000"),
        columns("at", 1451520000, 1454284800, 1456704000),
        free=("at",),
    ),
    "large and small": OpenCase(
        column("x", "123456789012", "0.000001", "5"),
        columns("x", 123456789012, 0.000001, 5),
    ),
}

MORE_DATES = {
    "hyphens, day first": OpenCase(
        column("on", "31-12-2015", "01-02-2016"),
        {"on": date("2015-12-31", "2016-02-01"), "who": people(2)},
        free=("on",),
    ),
    "hyphens, month first": OpenCase(
        column("on", "12-31-2015", "02-01-2016"),
        {"on": date("2015-12-31", "2016-02-01"), "who": people(2)},
        free=("on",),
    ),
    "day first, as asked": OpenCase(
        column("on", "01/02/2015", "03/04/2015"),
        {"on": date("2015-02-01", "2015-04-03"), "who": people(2)},
        options={"day_first": True},
        free=("on",),
    ),
    "day first, as asked, with points": OpenCase(
        column("on", "01.02.2015", "03.04.2015"),
        {"on": date("2015-02-01", "2015-04-03"), "who": people(2)},
        free=("on",),
    ),
    "year and all else of two digits": OpenCase(
        column("on", "10/12/14", "09/11/12", "01/02/03"),
        columns("on", "10/12/14", "09/11/12", "01/02/03"),
        notes={"on": "."},
        others=(
            {
                "columns": {
                    "on": date("2014-10-12", "2012-09-11", "2003-01-02"),
                    "who": people(3),
                },
                "notes": {"on": "does not show|ambig|day or|first"},
            },
        ),
    ),
    "German months": OpenCase(
        column("on", "31. Dezember 2015", "1. März 2016"),
        {"on": date("2015-12-31", "2016-03-01"), "who": people(2)},
        free=("on",),
        others=(text("on", "31. Dezember 2015", "1. März 2016"),),
    ),
    "offsets of two zones": OpenCase(
        column("on", "2015-12-31T23:00:00+01:00", "2016-07-01T12:00:00+02:00"),
        {"on": date("2015-12-31 22:00", "2016-07-01 10:00"), "who": people(2)},
        free=("on",),
        others=(
            text("on", "2015-12-31T23:00:00+01:00", "2016-07-01T12:00:00+02:00"),
            {
                "columns": {
                    "on": date("2015-12-31 23:00", "2016-07-01 12:00"),
                    "who": people(2),
                },
                "notes": {"on": "."},
            },
        ),
    ),
    "months and years": OpenCase(
        column("on", "12/2015", "02/2016", "03/2016"),
        {"on": date("2015-12-01", "2016-02-01", "2016-03-01"), "who": people(3)},
        free=("on",),
        others=(text("on", "12/2015", "02/2016", "03/2016"),),
    ),
    "two forms of dates": OpenCase(
        column("on", "2015-12-31", "31.12.2015", "2016-02-01", "01.03.2016"),
        {
            "on": date("2015-12-31", "2015-12-31", "2016-02-01", "2016-03-01"),
            "who": people(4),
        },
        notes={"on": "."},
        others=(text("on", "2015-12-31", "31.12.2015", "2016-02-01", "01.03.2016"),),
    ),
    "birthdays as one would write them": OpenCase(
        column("born", "15.03.45", "31.12.62", "01.02.38"),
        {"born": date("1945-03-15", "1962-12-31", "1938-02-01"), "who": people(3)},
        free=("born",),
        others=(text("born", "15.03.45", "31.12.62", "01.02.38"),),
    ),
}

MORE_FILES = {
    "Excel with errors in cells": OpenCase(
        workbook([["t", "n"], *([h, 1] for h in HEIGHTS), ["#DIV/0!", 2]]),
        {"t": [*HEIGHTS, None], "n": [1] * 24 + [2]},
        name="t.xlsx",
        free=("t",),
    ),
    "Excel with formulas that were never computed": OpenCase(
        workbook([["a", "b", "c"], [1, "=A2*2", 5], [2, "=A3*2", 6]]),
        {"a": [1, 2], "b": [None, None], "c": [5, 6]},
        name="t.xlsx",
        notes={"b": "."},
        others=({"error": "."}, {"columns": {"a": [1, 2], "b": [2, 4], "c": [5, 6]}}),
    ),
    "Excel with a long title": OpenCase(
        workbook(
            [
                ["Patients of 2015"],
                ["name", "age", "sex"],
                ["Ann", 34, "f"],
                ["Bob", 28, "m"],
            ]
        ),
        error="name|column|title|header|row",
        others=(
            {
                "columns": {"name": ["Ann", "Bob"], "age": [34, 28], "sex": ["f", "m"]},
                "notes": {None: "."},
            },
        ),
        name="t.xlsx",
    ),
    "Excel with times": OpenCase(
        workbook([["at", "n"], [datetime.time(8, 15), 1], [datetime.time(23, 59), 2]]),
        {"at": ["08:15:00", "23:59:00"], "n": [1, 2]},
        name="t.xlsx",
        free=("at",),
        others=(
            {
                "columns": {
                    "at": [datetime.time(8, 15), datetime.time(23, 59)],
                    "n": [1, 2],
                }
            },
            {
                "columns": {
                    "at": date("1900-01-01 08:15", "1900-01-01 23:59"),
                    "n": [1, 2],
                },
                "free": ("at",),
            },
        ),
    ),
    "Excel with an empty column between": OpenCase(
        workbook([["a", None, "b"], [1, None, "x"], [2, None, "y"]]),
        {"a": [1, 2], "b": ["x", "y"]},
        name="t.xlsx",
        free=(None,),
        others=(
            {"error": "name|column"},
            {
                "columns": {"a": [1, 2], "Unnamed: 1": [None] * 2, "b": ["x", "y"]},
                "free": (None, "Unnamed: 1"),
            },
        ),
    ),
    "Excel with phones": OpenCase(
        workbook([["phone", "n"], ["+4930123456", 1], ["0301234567", 2]]),
        {"phone": ["+4930123456", "0301234567"], "n": [1, 2]},
        name="t.xlsx",
        free=("phone",),
    ),
    "page called Excel": Case(
        "<html><body><table><tr><td>a</td></tr></table></body></html>",
        error=".",
        name="t.xls",
    ),
    "Parquet without rows": Case(
        parquet(FRAME.iloc[:0]), error="empty|no |record", name="t.parquet"
    ),
    "Parquet with truth values and one missing": OpenCase(
        parquet(
            pd.DataFrame(
                {"ok": pd.array([True, None, False], dtype="boolean"), "n": [1, 2, 3]}
            )
        ),
        {"ok": [True, None, False], "n": [1, 2, 3]},
        name="t.parquet",
    ),
    "Parquet with lists": OpenCase(
        parquet(pd.DataFrame({"tags": [["u"], ["v", "w"]], "n": [1, 2]})),
        error="tags",
        name="t.parquet",
        others=(
            {
                "columns": {"tags": [["u"], ["v", "w"]], "n": [1, 2]},
                "free": ("tags",),
            },
        ),
    ),
    "gzip of nothing": Case(gzip.compress(b""), error="empty|no ", name="t.csv.gz"),
}


def compact(mark):
    days = [f"201501{day:02}" for day in range(1, 25)]
    cells = [*days[:12], mark, *days[12:]]
    values = date(*days[:12], None, *days[12:])
    return OpenCase(
        column("on", *cells), {"on": values, "who": people(25)}, free=("on",)
    )


def third(mark):
    """A column of measurements in which every third is a mark."""
    cells = [mark if i % 3 == 1 else str(h) for i, h in enumerate(HEIGHTS)]
    values = [None if i % 3 == 1 else h for i, h in enumerate(HEIGHTS)]
    return OpenCase(
        column("height", *cells),
        columns("height", *values),
        free=("height",),
        others=({"columns": columns("height", *cells), "notes": {"height": "."}},),
    )


LAST_CASES = {
    **{
        f"a third is {mark!r}": third(mark)
        for mark in ("NULL", "\\N", "(null)", "[NULL]", "refused", "--")
    },
    **{f"compact dates and {mark!r}": compact(mark) for mark in ("", "NA")},
    "commas in names and texts of a file with tabs": Case(
        "last, first\tage\nRoe, Ann\t3\nDoe, Bob\t4\n",
        {"last, first": ["Roe, Ann", "Doe, Bob"], "age": [3, 4]},
        name="t.tsv",
    ),
    "commas in names and texts of a file with semicolons": Case(
        "name (last, first);age\nRoe, Ann;3\nDoe, Bob;4\n",
        {"name (last, first)": ["Roe, Ann", "Doe, Bob"], "age": [3, 4]},
    ),
    "a very long text in quotes": Case(
        'a,b\n"' + "x, " * 60_000 + '",1\ny,2\n',
        {"a": ["x, " * 60_000, "y"], "b": [1, 2]},
    ),
    "results of games": Case(
        column("goals", "2:1", "0:0", "3:2", "1:1"),
        columns("goals", "2:1", "0:0", "3:2", "1:1"),
    ),
    "a quote that is never closed, in a long file": OpenCase(
        "a,b\nx,1\n" + '"y,2\n' + "z,3\n" * 40_000, error=r"line 3\b"
    ),
    "ISO dates, days up to 12": Case(
        column("on", "2015-01-02", "2015-02-01", "2015-03-12"),
        {"on": date("2015-01-02", "2015-02-01", "2015-03-12"), "who": people(3)},
    ),
    "ISO dates, firsts of months and a blank": OpenCase(
        column("on", "2015-01-01", "2015-02-01", "", "2015-12-01"),
        {"on": date("2015-01-01", "2015-02-01", None, "2015-12-01"), "who": people(4)},
        free=("on",),
    ),
    "ISO dates with times, days up to 12": Case(
        column("on", "2015-01-02 10:00", "2015-02-01 11:30"),
        {"on": date("2015-01-02 10:00", "2015-02-01 11:30"), "who": people(2)},
    ),
    "slashes, year first, days up to 12": OpenCase(
        column("on", "2015/01/02", "2015/02/01"),
        {"on": date("2015-01-02", "2015-02-01"), "who": people(2)},
        free=("on",),
    ),
    "ISO dates beside dates with the day first": OpenCase(
        "on;at\n2015-01-02;31.12.2015\n2015-02-01;30.11.2015\n",
        {
            "on": date("2015-01-02", "2015-02-01"),
            "at": date("2015-12-31", "2015-11-30"),
        },
        free=("at",),
    ),
    "ISO dates where the day is said to be first": OpenCase(
        column("on", "2015-01-02", "2015-02-01"),
        {"on": date("2015-01-02", "2015-02-01"), "who": people(2)},
        options={"day_first": True},
        free=("on",),
    ),
    "unit with a slash": OpenCase(
        column("ldl", "120 mg/dL", "95.5 mg/dL", "130 mg/dL"),
        columns("ldl", 120, 95.5, 130),
        free=("ldl",),
    ),
}

MORE_CASES: dict[str, Case] = {
    name: case
    for cases in (
        *(SEPARATORS, NUMBERS, DATES, MISSING, QUOTES, ENCODINGS, LINES),
        *(IDENTIFIERS, LABELS, COLUMNS, XLSX, FILES),
        *(ODD_TEXT, NUMBERS_BY_CONTEXT, MORE_DATES, MORE_FILES, LAST_CASES),
    )
    for name, case in cases.items()
}
