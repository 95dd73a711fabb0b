"""The command ``skpriv``."""

import argparse
import os
import re
import sys

import skpriv
from skpriv.utils._text import printable

MODELS = ("logistic", "ridge", "knn")

_N_SHADOWS = 64

_FAULT = 2
_INTERRUPTED = 130

_CLOSED = "standard output is closed"

_AUDIT = """\
Score every record of a table by how much a model of its label exposes it, and print
the most exposed ones. Higher is more exposed, in every score.
"""

_AUDIT_EXAMPLES = """\
examples:
  skpriv audit
  skpriv audit people.csv --label income
  skpriv audit people.csv --label income --model knn -k 10
  skpriv audit people.csv --label income --attack --shadows 128
  skpriv audit people.parquet --label income --drop name --scores scores.csv

The exit code is 0 when the audit is done, 2 when it cannot be done (one line says why,
and no file is written), and 130 when it is interrupted.
"""


class _Fault(Exception):
    """The command cannot do what it is asked; the message says why."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        # One line, as for every other fault; argparse would print the usage too.
        raise _Fault(f"{self.prog}: error: {message}")


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; None: those of the process.

    Returns
    -------
    code : int
        The exit code: 0, 2 for a fault, 130 for an interruption.
    """
    try:
        options, unknown = _make_parser().parse_known_args(argv)
        if unknown:
            raise _Fault(
                f"{options.prog}: error: unrecognized arguments: {' '.join(unknown)}"
            )
        options.run(options)
    except _Fault as fault:
        print(printable(str(fault)), file=sys.stderr)
        return _FAULT
    except KeyboardInterrupt:
        print("skpriv: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _make_parser():
    parser = _Parser(prog="skpriv", description=skpriv.__doc__, allow_abbrev=False)
    parser.add_argument(
        "--version", action="version", version=f"skpriv {skpriv.__version__}"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit",
        help="score the records of a table by their exposure",
        description=_AUDIT,
        epilog=_AUDIT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_audit_options(audit)
    audit.set_defaults(run=_audit, prog=audit.prog)
    return parser


def _add_audit_options(audit):
    audit.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the table: .csv, .csv.gz or .parquet, one record a row (default: the "
        "breast cancer data that scikit-learn bundles)",
    )
    audit.add_argument(
        "--label",
        metavar="COL",
        help="the column that the model predicts: classes, or a quantity (needed with "
        "FILE)",
    )
    audit.add_argument(
        "--drop",
        metavar="COL",
        action="append",
        default=[],
        help="a column to leave out; may be given several times",
    )
    audit.add_argument(
        "--model",
        choices=MODELS,
        help="the model to audit. logistic: logistic regression, the default for "
        "classes, with the leverage of every record and the predicted success of an "
        "attack on it. ridge: ridge regression, the default for a quantity, or ridge "
        "classifier, with the leverage. Both come with the scores of knn: k-nearest "
        "neighbours, of classes",
    )
    audit.add_argument(
        "-k",
        "--neighbors",
        metavar="K",
        type=_whole_number,
        default=5,
        help="how many nearest neighbours vote, in the scores that are about "
        "neighbours (default: %(default)s)",
    )
    audit.add_argument(
        "--attack",
        action="store_true",
        help="attack the model, logistic or knn, with the likelihood ratio attack "
        "(LiRA): train shadow models on halves of the records, and report how often "
        "the attack is right about each record, and how well the scores foretell it",
    )
    audit.add_argument(
        "--shadows",
        metavar="N",
        type=_number_of_shadows,
        help="how many shadow models the attack trains; an even number from 6 "
        f"(default: {_N_SHADOWS})",
    )
    audit.add_argument(
        "--top",
        metavar="N",
        type=_whole_number,
        default=10,
        help="how many of the most exposed records to list (default: %(default)s)",
    )
    audit.add_argument(
        "--scores",
        metavar="FILE",
        help="write every record's scores to this CSV file, in the order of the table",
    )
    audit.add_argument(
        "--json",
        metavar="FILE",
        help="write the report to this JSON file",
    )


def _whole_number(text):
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 to 999999999"
        )
    return int(text)


def _number_of_shadows(text):
    number = _whole_number(text)
    if number < 6 or number % 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not an even number from 6")
    return number


def _audit(options):
    # Imported here, so that `skpriv --help` need not wait for pandas and scikit-learn.
    from skpriv.datasets import TableError
    from skpriv.report import OutputError

    try:
        _audit_table(options)
    except (TableError, OutputError, ImportError) as error:
        raise _Fault(f"{options.prog}: error: {error}") from error
    except MemoryError as error:
        raise _Fault(
            f"{options.prog}: error: there is too little memory: {error}"
        ) from error


def _audit_table(options):
    from skpriv import report

    inputs = [options.file] if options.file else []
    if options.shadows is not None and not options.attack:
        raise _Fault(f"{options.prog}: error: --shadows is for --attack")
    outputs = [path for path in (options.scores, options.json) if path is not None]
    if sys.stdout is None and not outputs:
        raise _Fault(f"{options.prog}: error: {_CLOSED}, and no file is to be written")
    with report.OutputFiles(outputs, inputs) as files:
        encoded, source = _load(options)
        model = _choose_model(options.model, encoded)
        shadows = _choose_shadows(options, model, encoded)
        audit = report.fit_audit(model, encoded, options.neighbors, shadows)
        summary = report.summarise(audit, encoded, source=source, n_top=options.top)
        if options.scores is not None:
            files.write(options.scores, report.to_scores_csv(summary))
        if options.json is not None:
            files.write(options.json, report.to_json(summary))
        _print(report.format_report(summary), options.prog)


def _load(options):
    from skpriv import datasets

    if options.file is not None:
        table = datasets.read_table(options.file)
        label, source = options.label, options.file
        if label is None:
            columns = ", ".join(map(repr, table.columns[:8]))
            more = ", ..." if table.shape[1] > 8 else ""
            raise datasets.TableError(
                f"--label is needed: name the column to predict, of {columns}{more}"
            )
    else:
        table = datasets.load_default_table()
        label = datasets.DEFAULT_LABEL if options.label is None else options.label
        source = "breast cancer data, bundled with scikit-learn"
    return datasets.encode_table(table, label, options.drop), source


def _choose_model(name, encoded):
    from skpriv import datasets, report

    model = report.choose_model(name, encoded.task)
    if model is None:
        fitting = [n for n in MODELS if report.choose_model(n, encoded.task)]
        raise datasets.TableError(
            f"label column {encoded.label!r} is a quantity, and --model {name} needs "
            f"classes; take --model {' or '.join(fitting)}, or cut the label into "
            "ranges first, for example with pandas.cut"
        )
    return model


def _choose_shadows(options, model, encoded):
    from skpriv import datasets, report

    if not options.attack:
        return None
    if model.make_attack is None:
        attacked = [
            name
            for name in MODELS
            if getattr(report.choose_model(name, encoded.task), "make_attack", None)
        ]
        if not attacked:
            raise datasets.TableError(
                f"label column {encoded.label!r} is a quantity, and --attack needs "
                "classes; cut the label into ranges first, for example with pandas.cut"
            )
        raise datasets.TableError(
            f"--attack cannot attack a {model.title}; take --model "
            f"{' or '.join(attacked)}"
        )
    return _N_SHADOWS if options.shadows is None else options.shadows


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
