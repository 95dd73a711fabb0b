"""The report of an audit: its figures, their text and their files."""

from skpriv.utils import _lazy

# Imported on first use: the help text of the command is made from the kinds alone.
__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {
        "_audit": ["Audit", "audit", "audit_table"],
        "_kinds": ["KINDS", "Kind", "choose_kind"],
        "_scorers": ["AuditScorer"],
        "_summarise": ["summarise"],
        "_text": ["format_report"],
        "_writing": ["OutputError", "OutputFiles", "to_json", "to_scores_csv"],
    },
)
