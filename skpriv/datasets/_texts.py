"""Columns of text whose values may be numbers or dates."""

from skpriv.datasets._notes import count_records

# What people write for a missing value, in lower case.
_MARKS = frozenset(
    (
        *("", "?", ".", "..", "...", "-", "--", "---", "*", "#", "_", "/", "\\", ":"),
        *("\N{EN DASH}", "\N{EM DASH}", "na", "n/a", "n.a.", "n.a", "#n/a", "#na"),
        *("<na>", "nan", "-nan", "nat", "null", "nil", "none", "nothing", "empty"),
        *("unknown", "unk", "unkn.", "undefined", "missing", "(missing)", "blank"),
        *("not available", "not applicable", "not known", "no answer", "no value"),
        *("no data", "#null!", "#value!", "#div/0!", "#ref!", "#name?", "#num!"),
        *("\\n", "(null)", "[null]", "<null>", "(none)", "(blank)", "(na)"),
        *("k.a.", "k. a.", "0000-00-00", "00.00.0000", "00/00/0000"),
    )
)
# A column with other values among its numbers (dates) is still one of numbers if at
# least this part of its values are numbers, and more than so many of them differ.
_LEAST_PART = 0.9
FEW = 20


class TextColumn:
    """A column of text and its different values.

    Parameters
    ----------
    texts : Series of str
    role : {"label", "number"} or None

    Attributes
    ----------
    marks : list of str
        The values that mark a missing value if the others are numbers or dates.
    candidates : list of str
        The other values.
    counts : Series of int
        The number of records with each candidate, under the candidates.
    """

    def __init__(self, texts, role):
        self.texts = texts
        self.name = texts.name
        self.role = role
        counts = texts.value_counts(sort=False)
        is_mark = counts.index.str.strip().str.casefold().isin(_MARKS)
        self.marks = list(counts.index[is_mark])
        self.counts = counts[~is_mark]
        self.candidates = list(self.counts.index)

    def part(self, known):
        """Part of the records with a candidate that have one of those known."""
        return self.counts[known].sum() / self.counts.sum()

    def slips(self, known):
        """The candidates that are not known."""
        return list(self.counts.index[~known])

    def fit(self, known, n_different):
        """Whether the column is of the kind as which some candidates are known."""
        if self.role == "number":
            return known.any()
        if self.role == "label" and self.marks and n_different <= FEW:
            return False
        enough = self.part(known) >= _LEAST_PART and n_different > FEW
        return known.all() or enough

    def records_with(self, values):
        """Say how many records have one of some values."""
        return count_records(self.texts.isin(values).to_numpy())
