"""The command ``skpriv``."""

import argparse
import os
import re
import shlex
import sys
from contextlib import contextmanager

import skpriv
from skpriv.report import KINDS, choose_kind
from skpriv.utils._text import printable

__all__ = ["main"]

_N_SHADOWS = 16
_FEWEST_SHADOWS = 8

_CONDITION_MET = 1
_FAULT = 2
_INTERRUPTED = 130

_CLOSED = "standard output is closed"
_CUT = "cut the label into ranges first, for example with pandas.cut"

_READING = ("sep", "decimal", "encoding", "day_first", "missing", "text", "number")
_COLUMN_OPTIONS = {
    "id": "a column that identifies the records: it is left out, and the report names "
    "the records by it",
    "keep": "a column to use even if it is constant or looks like an identifier",
    "text": "a column to take as text, so that each value is a category",
    "number": "a column to take as numbers; other values become missing",
}

_MEASURES = {"auto": "auto", "always": True, "never": False}
_OUTPUTS = {
    "html": "the report as a page for a browser, which needs no other file",
    "markdown": "the report as Markdown",
    "json": "the report, and every record, as JSON",
    "scores": "the risk, the reasons and the scores of every record, in the order of "
    "the table, as CSV",
}

_AUDIT = """\
Fit a model on a table, and estimate for each record how often an attack is right about
whether it was in the training data. The report says how exposed the records are, which
are most, and why.
"""

_AUDIT_EXAMPLES = """\
examples:
  skpriv audit
  skpriv audit people.csv --label income
  skpriv audit people.csv --label income --model forest --html report.html
  skpriv audit people.csv --label income --group sex --group region --id person
  skpriv audit people.csv --label income --model model.skops --members trained
  skpriv audit people.csv --label income --fail-if "at_risk > 1%"
  skpriv audit people.parquet --label income --scores scores.csv --json report.json
  skpriv audit people.txt --label income --sep tab --decimal , --missing -9
  gunzip -c people.csv.gz | skpriv audit - --label income

The exit code is 0 if the audit succeeds, 1 if a condition of --fail-if is met, 2 if the
audit fails (one line says why, and no file is written), and 130 if it is interrupted.
"""

_COMPARE = """\
Tell what changed from one audit to another: the figures, each record, and each group.
"""

_COMPARE_EXAMPLES = """\
examples:
  skpriv audit people.csv --label income --id person --json before.json
  skpriv audit people.csv --label income --id person --model forest --json after.json
  skpriv compare before.json after.json

The exit code is 0, 2 if the audits cannot be compared (one line says why), and 130 if
it is interrupted.
"""


class _Fault(Exception):
    """The command cannot do what it is asked to do; the message says why."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        # One line, as for every other error; argparse would print the usage too.
        raise _Fault(f"{self.prog}: error: {message}")


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments. None: those of the process.

    Returns
    -------
    code : int
        The exit code: 0, 1 if a condition of --fail-if is met, 2 after an error, 130
        after an interruption.
    """
    try:
        options, unknown = _make_parser().parse_known_args(argv)
        if unknown:
            raise _Fault(
                f"{options.prog}: error: unrecognized arguments: {' '.join(unknown)}"
            )
        arguments = sys.argv[1:] if argv is None else argv
        options.command = shlex.join(["skpriv", *arguments])
        return options.run(options)
    except _Fault as fault:
        print(printable(str(fault)), file=sys.stderr)
        return _FAULT
    except KeyboardInterrupt:
        print("skpriv: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _make_parser():
    parser = _Parser(prog="skpriv", description=skpriv.__doc__, allow_abbrev=False)
    parser.add_argument(
        "--version", action="version", version=f"skpriv {skpriv.__version__}"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit",
        help="find out how much a model exposes each record of a table",
        description=_AUDIT,
        epilog=_AUDIT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_audit_options(audit)
    audit.set_defaults(run=_audit, prog=audit.prog)
    compare = commands.add_parser(
        "compare",
        help="tell what changed from one audit to another",
        description=_COMPARE,
        epilog=_COMPARE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_compare_options(compare)
    compare.set_defaults(run=_compare, prog=compare.prog)
    return parser


def _add_compare_options(compare):
    for name in ("before", "after"):
        compare.add_argument(
            name, metavar=name.upper(), help=f"the JSON report of the audit {name}"
        )
    _add_top(compare, "records with the largest changes")
    compare.add_argument(
        "--json", metavar="FILE", help="write the comparison of all records as JSON"
    )


def _add_top(parser, which):
    parser.add_argument(
        "--top",
        metavar="N",
        type=_whole_number,
        default=10,
        help=f"how many of the {which} to list (default: %(default)s)",
    )


def _add_audit_options(audit):
    audit.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the table: .csv, .tsv, .txt (or these and .gz), .xlsx, .xls, .ods or "
        ".parquet, with one row per record, or - for standard input (default: the "
        "breast cancer data that comes with scikit-learn)",
    )
    audit.add_argument(
        "--label",
        metavar="COL",
        help="the column that the model predicts: classes, or a quantity (required "
        "with FILE)",
    )
    audit.add_argument(
        "--drop",
        metavar="COL",
        action="append",
        default=[],
        help="a column to leave out; can be given several times",
    )
    _add_table_options(audit)
    _add_model_options(audit)
    audit.add_argument(
        "-k",
        "--neighbors",
        metavar="K",
        type=_whole_number,
        default=5,
        help="the number of nearest neighbours, of a k-nearest-neighbour model and of "
        "those that a record is compared with (default: %(default)s)",
    )
    audit.add_argument(
        "--group",
        metavar="COL",
        action="append",
        default=[],
        help="a column whose groups are compared, besides the classes; can be given "
        "several times",
    )
    audit.add_argument(
        "--rank-by",
        metavar="SCORE",
        default="risk",
        help="what the records are ranked by: risk, or a score of the JSON report such "
        "as leverage (default: %(default)s)",
    )
    _add_top(audit, "most exposed records")
    audit.add_argument(
        "--measures",
        choices=list(_MEASURES),
        default="auto",
        help="whether to try what would help, such as a stronger penalty, and to "
        "measure the risk again each time; auto: if all else takes at most 10 seconds "
        "(default: %(default)s)",
    )
    audit.add_argument(
        "--fail-if",
        metavar="CONDITION",
        type=_condition,
        action="append",
        default=[],
        help='make the exit code 1 if a condition such as "at_risk > 1%%" or '
        '"tpr@0.1%% > 2%%" is met, or cannot be decided; can be given several times',
    )
    _add_output_options(audit)
    _add_running_options(audit)


def _add_model_options(audit):
    audit.add_argument(
        "--model",
        type=_model,
        help="the model to audit: a name, a file that ends in .skops, .pkl, .pickle or "
        ".joblib, or package.module:object. Names for classes: "
        f"{_list_models('classification')}. Names for a quantity: "
        f"{_list_models('regression')}",
    )
    audit.add_argument(
        "--trust",
        metavar="WHAT",
        action="append",
        default=[],
        help="what may be loaded with the model: the full name of a type in a .skops "
        "file, or pickle, for files of pickle or joblib, which run code when they are "
        "loaded; separated by commas, or given several times",
    )
    audit.add_argument(
        "--members",
        metavar="WHICH",
        help="the records that the model is trained on: a column of 1 and 0, or a text "
        "file with the number of a record (from 1) or its --id in each line; the other "
        "records are test data",
    )


def _add_output_options(audit):
    outputs = audit.add_argument_group(
        "what is written", "Only their owner can read the files."
    )
    for name, what in _OUTPUTS.items():
        outputs.add_argument(f"--{name}", metavar="FILE", help=f"write {what}")
    outputs.add_argument(
        "--show-values",
        action="store_true",
        help="show the values that make the listed records exposed, which are personal "
        "data, in the report and the page",
    )
    outputs.add_argument(
        "--quiet",
        action="store_true",
        help="print neither the report nor the progress",
    )


def _add_running_options(audit):
    running = audit.add_argument_group("how the risk is estimated")
    running.add_argument(
        "--shadows",
        metavar="N",
        type=_number_of_shadows,
        default=_N_SHADOWS,
        help="how many models are trained on halves of the records, to be attacked; an "
        f"even number, at least {_FEWEST_SHADOWS} (default: %(default)s)",
    )
    running.add_argument(
        "--seed",
        metavar="N",
        type=_seed,
        default=0,
        help="the same number gives the same report again (default: %(default)s)",
    )
    running.add_argument(
        "--jobs",
        metavar="N",
        type=_whole_number,
        help="how many models to train at a time (default: 1)",
    )
    running.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep the results of finished models here, so that the audit resumes if "
        "it is interrupted",
    )


def _add_table_options(audit):
    table = audit.add_argument_group(
        "how to read the table",
        "For what the table does not show, and to correct what the report lists under "
        "'Please check'.",
    )
    task = table.add_mutually_exclusive_group()
    for name, value in (("classes", "classification"), ("quantity", "regression")):
        task.add_argument(
            f"--{name}",
            dest="task",
            action="store_const",
            const=value,
            help=f"take a label of numbers as {name}",
        )
    for name, meaning in _COLUMN_OPTIONS.items():
        table.add_argument(
            f"--{name}",
            metavar="COL",
            action="append",
            default=[],
            help=f"{meaning}; can be given several times",
        )
    table.add_argument(
        "--missing",
        metavar="TEXT",
        action="append",
        default=[],
        help="what stands for a missing value in every column; can be given several "
        "times",
    )
    table.add_argument(
        "--sep", metavar="CHAR", type=_separator, help="what separates the values"
    )
    table.add_argument("--decimal", choices=[".", ","], help="the decimal mark")
    table.add_argument("--encoding", metavar="NAME", help="the encoding of the text")
    order = table.add_mutually_exclusive_group()
    for name, value in (("day", True), ("month", False)):
        order.add_argument(
            f"--{name}-first",
            dest="day_first",
            action="store_const",
            const=value,
            help=f"in dates such as 01/02/2024, take the {name} as first",
        )


def _separator(text):
    sep = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(sep) != 1 or sep in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character (or tab)")
    return sep


def _list_models(task):
    default = choose_kind(None, task)
    return ", ".join(
        f"{kind.name} ({kind.title}{'; the default' if kind is default else ''})"
        for kind in KINDS
        if kind.task == task
    )


def _model(text):
    names = _names_of_kinds()
    if text not in names and not re.search(r"[.:/\\]", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(names)}, no file of a model, and not "
            "package.module:object"
        )
    return text


def _names_of_kinds():
    return list(dict.fromkeys(kind.name for kind in KINDS))


def _condition(text):
    from skpriv.report import ConditionError, parse_condition

    try:
        return parse_condition(text)
    except ConditionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _whole_number(text):
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 to 999999999"
        )
    return int(text)


def _number_of_shadows(text):
    number = _whole_number(text)
    if number < _FEWEST_SHADOWS or number % 2:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an even number of at least {_FEWEST_SHADOWS}"
        )
    return number


def _seed(text):
    return 0 if re.fullmatch("0+", text) else _whole_number(text)


def _audit(options):
    with _naming_faults(options.prog):
        return _audit_table(options)


@contextmanager
def _naming_faults(prog):
    """Raise the errors that have a message for people as a fault."""
    # Imported here, so that `skpriv --help` need not wait for pandas and scikit-learn.
    from skpriv import report
    from skpriv.datasets import TableError

    errors = (TableError, report.OutputError, report.ComparisonError, ImportError)
    try:
        yield
    except (*errors, report.ModelError) as error:
        raise _Fault(f"{prog}: error: {error}") from error
    except MemoryError as error:
        raise _Fault(f"{prog}: error: there is too little memory: {error}") from error


def _audit_table(options):
    from skpriv import report

    inputs = [
        path
        for path in (options.file, options.model, options.members)
        if path is not None and os.path.isfile(path)
    ]
    outputs = {name: getattr(options, name) for name in _OUTPUTS}
    outputs = {name: path for name, path in outputs.items() if path is not None}
    if sys.stdout is None and not outputs:
        raise _Fault(f"{options.prog}: error: {_CLOSED}, and no file is to be written")
    progress = report.Silent() if options.quiet else report.progress_on(sys.stderr)
    try:
        with report.OutputFiles(outputs.values(), inputs) as files:
            result = _make_audit(options, progress)
            with progress.step("writing the report"):
                for name, path in outputs.items():
                    files.write(path, _render(result, name, options.show_values))
            progress.close()
            if not options.quiet:
                shown = result.with_values() if options.show_values else result.summary
                _print(report.format_report(shown), options.prog)
    finally:
        progress.close()
    return _decide(options, result.summary)


def _decide(options, summary):
    """Return the exit code, and say which conditions are met."""
    from skpriv import report

    outcomes = [report.evaluate(condition, summary) for condition in options.fail_if]
    for outcome in outcomes:
        if outcome.failed:
            print(printable(f"{options.prog}: {outcome.sentence}"), file=sys.stderr)
    return _CONDITION_MET if any(outcome.failed for outcome in outcomes) else 0


def _compare(options):
    from skpriv import report

    with _naming_faults(options.prog):
        outputs = [] if options.json is None else [options.json]
        with report.OutputFiles(outputs, [options.before, options.after]) as files:
            before, after = map(report.read_summary, (options.before, options.after))
            found = report.compare(before, after)
            if options.json is not None:
                files.write(options.json, report.comparison_to_json(found))
            _print(report.format_comparison(found, n_top=options.top), options.prog)
    return 0


def _make_audit(options, progress):
    from skpriv import report

    given = None
    if options.model not in (None, *_names_of_kinds()):
        with progress.step("loading the model"):
            trust = [name for names in options.trust for name in names.split(",")]
            given = report.load_model(options.model, trust=trust)
    elif options.trust:
        raise _Fault(
            f"{options.prog}: error: --trust can only be used with a model of your own"
        )
    with progress.step("reading the table"):
        data = _load(options)
    settings = report.Settings(
        n_shadows=options.shadows,
        cache_dir=options.cache,
        n_jobs=options.jobs,
        random_state=options.seed,
        rank_by=options.rank_by,
        n_neighbors=options.neighbors,
        measures=_MEASURES[options.measures],
        progress=progress,
    )
    shown = {"command": options.command, "n_top": options.top}
    try:
        if given is not None:
            return report.audit_given(given, data, settings, **shown)
        kind = _choose_kind(options, data.table)
        return report.audit_table(kind, data, settings, **shown)
    except ValueError as error:
        raise _Fault(f"{options.prog}: error: {error}") from error


def _render(result, name, show_values):
    from skpriv import report

    if name == "json":
        return result.to_json()
    if name == "scores":
        return report.to_scores_csv(result.summary)
    if name == "html":
        return result.to_html(show_values=show_values)
    return result.to_markdown(show_values=show_values)


def _load(options):
    from skpriv import datasets, report

    table, label, source = _read(options)
    for name in options.group:
        datasets.check_column(name, list(table.columns))
    encoding = {"ids": options.id, "keep": options.keep, "task": options.task}
    data = {
        "no_features": tuple(dict.fromkeys([*options.id, *options.drop])),
        "groups": tuple(options.group),
        "source": source,
        "file": None if options.file in (None, "-") else options.file,
    }
    if options.members is None:
        encoded = datasets.encode_table(table, label, options.drop, **encoding)
        return report.Data(encoded, **data)
    ids = [table[name].astype(str) for name in options.id if name in table.columns]
    members = report.read_members(options.members, table, ids[0] if ids else None)
    drop = [*options.drop, *(() if members.column is None else (members.column,))]
    data["no_features"] = tuple(dict.fromkeys([*options.id, *drop]))
    encoded, rest = report.encode_members(
        table, label, members.mask, drop=drop, **encoding
    )
    data["source"] += f" (the training records by --members {options.members})"
    return report.Data(encoded, rest=rest, places=members.places, **data)


def _read(options):
    from skpriv import datasets

    reading = {name: getattr(options, name) for name in _READING}
    if options.file is not None:
        if options.label is None:
            columns = datasets.read_table(options.file, **reading).columns
            shown = ", ".join(map(repr, columns[:8]))
            raise datasets.TableError(
                "--label must name the column to predict, one of "
                f"{shown}{', ...' if len(columns) > 8 else ''}"
            )
        table = datasets.read_table(options.file, label=options.label, **reading)
        source = "standard input" if options.file == "-" else options.file
        return table, options.label, source
    for name, value in reading.items():
        if value not in (None, []):
            option = "month-first" if value is False else name.replace("_", "-")
            raise datasets.TableError(f"--{option} can only be used with FILE")
    label = datasets.DEFAULT_LABEL if options.label is None else options.label
    source = "breast cancer data, bundled with scikit-learn"
    return datasets.load_default_table(), label, source


def _choose_kind(options, table):
    from skpriv.datasets import TableError

    kind = choose_kind(options.model, table.task)
    if kind is None:
        fitting = (kind.name for kind in KINDS if kind.task == table.task)
        raise TableError(
            f"the label column {table.label!r} is a quantity, and --model "
            f"{options.model} needs classes; use --model {' or '.join(fitting)}, or "
            f"{_CUT}"
        )
    return kind


def _print(text, prog):
    if sys.stdout is None:
        print(f"{prog}: the report is not printed: {_CLOSED}", file=sys.stderr)
        return
    encoding = sys.stdout.encoding or "utf-8"
    text = text.encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python would try to flush what is left again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The reader of a pipe, `head` say, may have seen enough.
        if not isinstance(error, BrokenPipeError):
            raise _Fault(
                f"{prog}: error: the report cannot be printed: {error.strerror}"
            ) from error
