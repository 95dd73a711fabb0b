"""The report of an audit: figures first, then their text and their files."""

from skpriv.utils import _lazy

_HOME = {
    "KINDS": "skpriv.report._kinds",
    "Audit": "skpriv.report._audit",
    "AuditScorer": "skpriv.report._scorers",
    "Kind": "skpriv.report._kinds",
    "OutputError": "skpriv.report._writing",
    "OutputFiles": "skpriv.report._writing",
    "audit": "skpriv.report._audit",
    "audit_table": "skpriv.report._audit",
    "choose_kind": "skpriv.report._kinds",
    "format_report": "skpriv.report._text",
    "summarise": "skpriv.report._summarise",
    "to_json": "skpriv.report._writing",
    "to_scores_csv": "skpriv.report._writing",
}

__all__ = list(_HOME)

# Imported on first use: the help text of the command is made from the kinds alone.
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
