"""The audit of a model, and its report: figures, text, page and files."""

from skpriv.utils import _lazy

# Imported on first use: the help text of the command is made from the kinds alone.
__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {
        "_audit": ["Audit", "audit", "audit_subject"],
        "_compare": [
            "ComparisonError",
            "compare",
            "comparison_to_json",
            "read_summary",
        ],
        "_compare_text": ["format_comparison"],
        "_conditions": ["ConditionError", "evaluate", "parse_condition"],
        "_conduct": ["Settings"],
        "_kinds": ["KINDS", "Kind", "choose_kind"],
        "_members": ["encode_members", "read_members"],
        "_models": ["ModelError", "load_model"],
        "_progress": ["Silent", "progress_on"],
        "_summarise": ["summarise"],
        "_table": ["Data", "audit_given", "audit_table"],
        "_text": ["format_report"],
        "_writing": ["OutputError", "OutputFiles", "to_json", "to_scores_csv"],
    },
)
