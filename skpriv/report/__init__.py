"""The report of an audit: figures first, then their text and their files."""

from skpriv.report._models import MODELS, Audit, AuditModel, choose_model, fit_audit
from skpriv.report._scorers import AuditScorer
from skpriv.report._summarise import summarise
from skpriv.report._text import format_report
from skpriv.report._writing import OutputError, OutputFiles, to_json, to_scores_csv

__all__ = [
    "MODELS",
    "Audit",
    "AuditModel",
    "AuditScorer",
    "OutputError",
    "OutputFiles",
    "choose_model",
    "fit_audit",
    "format_report",
    "summarise",
    "to_json",
    "to_scores_csv",
]
