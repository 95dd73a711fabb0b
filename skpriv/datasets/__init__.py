"""Read tables of personal records, and encode their columns as numbers."""

from skpriv.datasets._clean import clean_table
from skpriv.datasets._columns import Column, describe_columns
from skpriv.datasets._encode import EncodedTable, encode_table, table_encoder
from skpriv.datasets._errors import TableError, check_column
from skpriv.datasets._notes import Note
from skpriv.datasets._read import DEFAULT_LABEL, load_default_table, read_table

__all__ = [
    "DEFAULT_LABEL",
    "Column",
    "EncodedTable",
    "Note",
    "TableError",
    "check_column",
    "clean_table",
    "describe_columns",
    "encode_table",
    "load_default_table",
    "read_table",
    "table_encoder",
]
