"""Numbers as people write them: decimal commas, thousands separators, units.

No library that was tried (pandas, polars, pyarrow, DuckDB, skrub, Babel) finds out the
notation of a column, and most read "1,2,3" as 123 once told that commas group.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from skpriv.utils._optional import import_optional

_CURRENCY = r"[$¢£¥₠-⃀]"
_LETTERS = r"[^\W\d_]{1,10}"
_MINUS = str.maketrans("\N{MINUS SIGN}", "-")
# Apostrophes, and the spaces: ordinary, no-break, thin and narrow no-break.
_GROUPING = "'\u2019\\ \u00a0\u2009\u202f"
_LEADING_ZERO = r"^\s*[+-]?0[0-9]+\s*$"
# Numbers with a sign are not all positive.
_PHONE = r"^\s*\+[1-9][0-9]{6,14}\s*$"
_MAYBE_GROUPED = r"^[+-]?([0-9]+|[1-9][0-9]{0,2}(MARK[0-9]{3})+)$"
_DECIMAL_COMMAS = "^[+-]?[0-9]*,?[0-9]*$"
_LARGEST_EXACT = 2**53
# Of longer columns, so many different values are tried first.
_SAMPLE = 500


def _notation(decimal, thousands):
    return re.compile(
        rf"""(?P<opening>\()? (?P<sign>[+-]?)
        (?: (?P<before> [A-Z]{{0,3}}{_CURRENCY} | [A-Z]{{3}}(?=\s) ) \s? )?
        (?P<inner>[+-]?)
        (?P<number> (?={decimal}?\d)
            (?: [1-9]\d{{0,2}} (?P<group>[{thousands}]) (?:\d{{2,3}}(?P=group))* \d{{3}}
              | \d* )
            (?: {decimal}\d* )? (?: [eE][+-]?\d+ )? )
        (?: \s? (?P<after> %|‰|{_CURRENCY}|°|°?{_LETTERS}(?:/{_LETTERS})? ) )?
        (?(opening)\))""",
        re.VERBOSE,
    )


_NOTATIONS = {
    ".": _notation(r"\.", "," + _GROUPING),
    ",": _notation(",", "." + _GROUPING),
}


@dataclass(frozen=True)
class Numbers:
    """Texts that are read as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_texts,)
        NaN for texts that are no numbers.
    decimal : {".", ","} or None
        The decimal mark; None if the other would give the same numbers.
    is_unclear : bool
        Whether the other decimal mark fits as well and gives other numbers.
    grouping : frozenset of str
        What separates thousands.
    unit : str
        What stands before or after the numbers.
    """

    values: np.ndarray
    decimal: str | None = None
    is_unclear: bool = False
    grouping: frozenset = frozenset()
    unit: str = ""

    @property
    def known(self):
        return ~np.isnan(self.values)


def read_plain_numbers(texts):
    """Read texts that are all numbers as a computer writes them.

    Parameters
    ----------
    texts : Series of str, none missing

    Returns
    -------
    numbers : Numbers or None
        Of integers if all are. None if some text is no such number, or if the texts
        may be codes (leading zeros, more digits than a float has) or grouped by dots.
    """
    pyarrow = import_optional("pyarrow", extra="report")
    array = pyarrow.array(texts, type=pyarrow.large_string(), from_pandas=True)
    numbers = _cast(array, pyarrow.float64())
    if numbers is None or np.isnan(numbers).any() or may_be_codes(texts, numbers):
        return None
    if (numbers == np.floor(numbers)).all():
        for whole in (pyarrow.int64(), pyarrow.uint64()):
            integers = _cast(array, whole)
            if integers is not None:
                return Numbers(integers)
    if _all_match(array, _MAYBE_GROUPED.replace("MARK", "[.]")):
        return None
    return Numbers(numbers, decimal=".")


def read_numbers(texts, prefer="."):
    """Read texts as numbers, in the notation that fits most of them.

    Parameters
    ----------
    texts : sequence of str
    prefer : {".", ","}, default="."
        The decimal mark, where both fit.

    Returns
    -------
    numbers : Numbers
    """
    commas = _read_decimal_commas(texts)
    if commas is not None:
        return Numbers(commas, decimal=",")
    other = "," if prefer == "." else "."
    sample = texts[:_SAMPLE]
    in_sample = {mark: _read_in(sample, mark).known for mark in _NOTATIONS}
    if not any(known.any() for known in in_sample.values()):
        return Numbers(np.full(len(texts), np.nan))
    preferred = _read_in(texts, prefer)
    if preferred.known.all() and not in_sample[other].all():
        return preferred
    others = _read_in(texts, other)
    more = others.known.sum() - preferred.known.sum()
    if more > 0:
        return others
    if np.array_equal(preferred.values, others.values, equal_nan=True):
        return replace(preferred, decimal=None)
    return replace(preferred, is_unclear=bool(more == 0))


def may_be_codes(texts, numbers):
    """Whether the texts are different codes that numbers could not tell apart.

    Parameters
    ----------
    texts : Series of str, none missing
    numbers : ndarray of shape (n_texts,)
        The numbers that they would be read as.

    Returns
    -------
    answer : bool
    """
    pyarrow = import_optional("pyarrow", extra="report")
    array = pyarrow.array(texts, type=pyarrow.large_string(), from_pandas=True)
    if _any_match(array, _LEADING_ZERO):
        return True
    if texts.iloc[0].strip().startswith("+") and _all_match(array, _PHONE):
        return True
    known = numbers[~np.isnan(numbers)]
    if not np.any(np.abs(known) >= _LARGEST_EXACT):
        return False
    return len(np.unique(known)) < texts.nunique()


def _read_decimal_commas(texts):
    """Numbers with nothing but a decimal comma, many at once; None if some are not."""
    pyarrow = import_optional("pyarrow", extra="report")
    compute = import_optional("pyarrow.compute", extra="report")
    array = pyarrow.array(texts, type=pyarrow.large_string(), from_pandas=True)
    if not _all_match(array, _DECIMAL_COMMAS):
        return None
    if _all_match(array, _MAYBE_GROUPED.replace("MARK", ",")):
        return None
    return _cast(compute.replace_substring(array, ",", "."), pyarrow.float64())


# Several times as fast as the regular expressions of pandas.


def _all_match(array, pattern):
    compute = import_optional("pyarrow.compute", extra="report")
    # The first few tell most columns.
    parts = [part for part in (array[:_SAMPLE], array[_SAMPLE:]) if len(part)]
    return bool(parts) and all(
        compute.all(compute.match_substring_regex(part, pattern)).as_py()
        for part in parts
    )


def _any_match(array, pattern):
    compute = import_optional("pyarrow.compute", extra="report")
    return compute.any(compute.match_substring_regex(array, pattern)).as_py()


def _cast(array, dtype):
    pyarrow = import_optional("pyarrow", extra="report")
    try:
        return array.cast(dtype).to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:
        return None


def _read_in(texts, decimal):
    pattern = _NOTATIONS[decimal]
    matches = [pattern.fullmatch(text.strip().translate(_MINUS)) for text in texts]
    units = [match and _unit(match) for match in matches]
    counts = Counter(unit for unit in units if unit is not None)
    # One unit a column: 5 and 5 % are not on the same scale. A currency may be omitted.
    unit = counts.most_common(1)[0][0] if counts else ""
    accepted = {unit}
    if re.fullmatch(_CURRENCY, "".join(counts)):
        accepted |= set(counts)
    matches = [
        match if found in accepted else None
        for match, found in zip(matches, units, strict=True)
    ]
    values = [np.nan if match is None else _value(match, decimal) for match in matches]
    return Numbers(
        np.array(values, dtype=float),
        decimal,
        grouping=frozenset(m["group"] for m in matches if m and m["group"]),
        unit=max(accepted),
    )


def _unit(match):
    return (match["before"] or "") + (match["after"] or "")


def _value(match, decimal):
    digits = match["number"].replace(match["group"] or " ", "").replace(decimal, ".")
    is_negative = "-" in (match["sign"], match["inner"]) or match["opening"]
    return -float(digits) if is_negative else float(digits)
