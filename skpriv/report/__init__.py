"""The report of an audit: figures first, then their text and their files."""

from skpriv.report._scorers import SCORERS, AuditScorer
from skpriv.report._summarise import summarise
from skpriv.report._text import format_report
from skpriv.report._writing import OutputError, OutputFiles, to_json, to_scores_csv

__all__ = [
    "SCORERS",
    "AuditScorer",
    "OutputError",
    "OutputFiles",
    "format_report",
    "summarise",
    "to_json",
    "to_scores_csv",
]
