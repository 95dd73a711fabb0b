"""The building blocks of a report that is filed, whatever format it is written in.

A piece of text is a str, which skpriv wrote, a `Name`, which comes from the data, or a
tuple of such pieces. Whoever writes the text escapes all of it.
"""

from typing import NamedTuple


class Name(str):
    """Text from the data or from the user: the name of a column, class, file, record.

    It is shown on one line, shortened, and set apart from the text around it.
    """

    __slots__ = ()


class Told(str):
    """A sentence that holds text from the data, and is shown in full."""

    __slots__ = ()


class Code(str):
    """A command or expression, in full."""

    __slots__ = ()


class Strong(str):
    """Emphasised text."""

    __slots__ = ()


class Link(NamedTuple):
    """A reference that a reader may follow."""

    text: str
    address: str


class Figure(NamedTuple):
    """A number in a table, with the value to sort by."""

    text: str
    value: float | None


class Glyph(NamedTuple):
    """A small picture in a table that shows the numbers beside it.

    `shape` is "interval" (a value between two limits) or "change" (from one value to
    another); `scale` is the range of the axis.
    """

    shape: str
    values: tuple
    scale: tuple[float, float]
    marked: bool = False


class Table(NamedTuple):
    caption: object
    headings: list[str]
    rows: list[tuple]
    # Sorted and filtered by the reader, and too long to print unless opened.
    long: bool = False

    kind = "table"


class Facts(NamedTuple):
    rows: list[tuple]

    kind = "facts"


class Points(NamedTuple):
    items: list
    # "plain", or "verdict" for sentences that stand out.
    style: str = "plain"

    kind = "points"


class Card(NamedTuple):
    """A figure that stands out, with its meaning in words."""

    title: str
    # How many of 100 guesses are right, or None.
    right_of_100: int | None
    number: object
    text: object


class Cards(NamedTuple):
    cards: list[Card]

    kind = "cards"


class Picture(NamedTuple):
    """A picture, by its name, with what it shows in words."""

    name: str
    title: str
    caption: object

    kind = "picture"


class Note(NamedTuple):
    """A paragraph that must not be overlooked."""

    text: object

    kind = "note"


class Part(NamedTuple):
    title: str
    blocks: list

    kind = "part"


class Section(NamedTuple):
    key: str
    title: str
    blocks: list
