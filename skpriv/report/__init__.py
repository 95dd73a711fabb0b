"""The audit of a model, and its report: figures, text, page and files."""

from skpriv.utils import _lazy

# Imported on first use: the help text of the command is made from the kinds alone.
__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {
        "_audit": ["Audit", "audit", "audit_subject"],
        "_conduct": ["Settings"],
        "_kinds": ["KINDS", "Kind", "choose_kind"],
        "_progress": ["Silent", "progress_on"],
        "_summarise": ["summarise"],
        "_table": ["audit_table"],
        "_text": ["format_report"],
        "_writing": ["OutputError", "OutputFiles", "to_json", "to_scores_csv"],
    },
)
