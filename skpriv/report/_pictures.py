"""The pictures of a page, as inline SVG.

They are drawn here and not by matplotlib, so that their colours follow the page's theme
(light, dark, print), their text is text in the page's font and keeps its size on a
phone, and a page needs no plotting library. Horizontal positions are percentages of the
width; colours come from the classes in the page's style sheet.
"""

import math

from skpriv.utils._optional import import_optional

Markup = import_optional("markupsafe", extra="report").Markup

_MOST_POINTS = 400
_MOST_IN_FULL = 100
_HEIGHT, _TOP, _BOTTOM = 312, 22, 268
_MOST_LARGE_DIAMONDS = 60


def draw(name, summary, title):
    """Draw a picture of a summary.

    Parameters
    ----------
    name : {"records", "top", "roc"}
        All records, the most exposed of them, or the curve of the attack.
    summary : dict
        The summary of an audit.
    title : str
        The text that stands for the picture where it cannot be seen.

    Returns
    -------
    picture : Markup
    """
    if name == "roc":
        return _draw_roc(summary, title)
    return _draw_records(summary, title, name)


def draw_guesses(right):
    """Draw 100 guesses as squares, of which so many are right, from the bottom."""
    squares = [(k % 10, 9 - k // 10) for k in range(100)]
    return Markup(
        '<svg class="guesses" viewBox="0 0 104 100" aria-hidden="true">'
        '<path class="right" d="{}"/><path class="wrong" d="{}"/>'
        '<path class="guessing" d="M0 50H104"/></svg>'
    ).format(_squares(squares[:right]), _squares(squares[right:]))


def _squares(places):
    return "".join(f"M{10 * x + 3} {10 * y + 1}h8v8h-8z" for x, y in places)


def draw_glyph(glyph):
    """Draw the picture in a cell of a table; the numbers stand beside it."""
    low, high = glyph.scale
    places = [_percent((v - low) / ((high - low) or 1)) for v in glyph.values]
    inside = _INSIDE[glyph.shape](places, glyph.marked)
    return Markup(
        '<svg class="glyph" width="100%" height="16" aria-hidden="true">'
        '<line class="axis" x1="0" x2="100%" y1="8" y2="8"/>{}</svg>'
    ).format(inside)


def _draw_interval(places, marked):
    low, value, high = places
    return Markup(
        '<line class="range" x1="{}" x2="{}" y1="8" y2="8"/>'
        '<use href="#{}" x="{}" y="8"/>'
    ).format(low, high, "diamond" if marked else "dot", value)


def _draw_change(places, marked):
    before, after = places
    return Markup(
        '<line class="range" x1="{}" x2="{}" y1="8" y2="8"/>'
        '<circle class="before" cx="{}" cy="8" r="4"/>'
        '<use href="#dot" x="{}" y="8"/>'
    ).format(before, after, before, after)


_INSIDE = {"interval": _draw_interval, "change": _draw_change}


def _percent(part):
    # What lies at an end of the axis is drawn in full.
    return f"{3 + 94 * min(max(part, 0), 1):.2f}%"


def _draw_records(summary, title, name):
    records, limit = summary["records"], summary["risk"]["detection_limit"]
    order = sorted(
        (k for k, risk in enumerate(records["risk"]) if risk is not None),
        key=lambda k: (records["risk"][k], k),
    )
    if name == "top":
        order = order[-_MOST_IN_FULL:]
    lines, dots, diamonds = [], [], []
    n_at_risk = sum(records["at_risk"][k] for k in order)
    diamond = "diamond" if n_at_risk <= _MOST_LARGE_DIAMONDS else "small-diamond"
    for place in _thin_out(order, records["at_risk"]):
        k = order[place]
        x = _percent((place + 0.5) / len(order))
        low, high = records["risk_low"][k], records["risk_high"][k]
        if low is not None and high is not None:
            ends = _height(low), _height(high)
            lines.append(
                Markup('<line x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>').format(x, *ends)
            )
        y = _height(records["risk"][k])
        if records["at_risk"][k]:
            mark = Markup('<use href="#{}" x="{}" y="{}"/>').format(diamond, x, y)
            diamonds.append(mark)
        else:
            dots.append(Markup('<circle cx="{}" cy="{}" r="1.8"/>').format(x, y))
    everything = [
        Markup('<g class="bands">{}</g>').format(Markup().join(lines)),
        _line_of_detection(limit) if limit is not None else "",
        *(_grid_line(level) for level in (0.5, 0.6, 0.7, 0.8, 0.9, 1)),
        Markup('<g class="dots">{}</g>').format(Markup().join(dots)),
        *diamonds,
        _text(
            "3%",
            _HEIGHT - 4,
            "start",
            "lowest of these" if name == "top" else "lowest risk",
        ),
        _text("97%", _HEIGHT - 4, "end", "highest risk"),
    ]
    return Markup(
        '<svg class="plot" width="100%" height="{}" role="img" '
        'aria-labelledby="picture-{}"><title id="picture-{}">{}</title>{}</svg>'
    ).format(_HEIGHT, name, name, title, Markup().join(everything))


def _thin_out(order, at_risk):
    """Return the places to draw: the highest, all at risk, and a part of the others."""
    n = len(order)
    if n <= _MOST_POINTS:
        return range(n)
    first = n - _MOST_IN_FULL
    n_more = _MOST_POINTS - _MOST_IN_FULL
    places = {round(k * first / n_more) for k in range(n_more)} | {*range(first, n)}
    listed = [place for place in range(first) if at_risk[order[place]]]
    step = math.ceil(len(listed) / n_more) or 1
    return sorted(places | {*listed[::step]})


def _height(risk):
    part = (min(max(risk, 0.48), 1) - 0.5) / 0.5
    return f"{_BOTTOM - part * (_BOTTOM - _TOP):.1f}"


def _grid_line(level):
    guessing = level == 0.5
    y = float(_height(level))
    text = f"{level:.0%}: guessing" if guessing else f"{level:.0%}"
    return Markup('<line class="{}" x1="0" x2="100%" y1="{}" y2="{}"/>{}').format(
        "chance" if guessing else "grid",
        y,
        y,
        _text("0", y + 14 if guessing else y - 4, "start", text),
    )


def _line_of_detection(limit):
    y = float(_height(limit))
    # Near the top, the label would be on the line of 100%.
    label = y + 14 if limit > 0.95 else y - 4
    return Markup(
        '<line class="detection" x1="0" x2="100%" y1="{}" y2="{}"/>{}'
    ).format(y, y, _text("50%", label, "middle", f"limit of detection {limit:.1%}"))


def _text(x, y, anchor, text):
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
        x, y, anchor, text
    )


_SIDE, _LEFT, _LOW = 300, 48, 312  # the square of the curve, and where it begins


def _draw_roc(summary, title):
    roc = summary["attack"]["roc"]
    points = [
        (x, *ys)
        for x, *ys in zip(roc["fpr"], roc["tpr"], roc["low"], roc["high"], strict=True)
        if x and x > 0
    ]
    n_decades = _decades(points)
    curve = [(x, y) for x, y, _, _ in points if y]
    lower = [(x, low) for x, _, low, _ in points if low is not None]
    upper = [(x, high) for x, _, _, high in points if high is not None]
    ends = _LEFT + _SIDE, _LOW - _SIDE
    everything = [
        *(_decade(k, n_decades) for k in range(n_decades + 1)),
        Markup('<path class="band" d="{}z"/>').format(
            _path(upper + lower[::-1], n_decades)
        ),
        Markup('<path class="chance" d="M{} {}L{} {}"/>').format(_LEFT, _LOW, *ends),
        Markup('<path class="curve" d="{}"/>').format(_path(curve, n_decades)),
        _text(_LEFT + 70, _LOW - 50, "start", "guessing"),
        _text(_LEFT + _SIDE / 2, _LOW + 36, "middle", "others accused (FPR)"),
        _text(_LEFT - 44, -6, "start", "training records recognised (TPR)"),
    ]
    return Markup(
        '<svg class="square" viewBox="0 -24 370 378" role="img" '
        'aria-labelledby="picture-roc"><title id="picture-roc">{}</title>{}</svg>'
    ).format(title, Markup().join(everything))


def _decades(points):
    smallest = min((x for x, *_ in points), default=0.001)
    return min(max(math.ceil(-math.log10(smallest) - 1e-9), 2), 5)


def _decade(k, n_decades):
    level = 10.0 ** (k - n_decades)
    x, y = _place(level, level, n_decades)
    digits = max(0, n_decades - k - 2)
    told = f"{level:.{digits}%}"
    return Markup(
        '<path class="grid" d="M{0} {2}V{3}M{4} {1}H{5}"/>{6}{7}'
    ).format(
        x,
        y,
        _LOW,
        _LOW - _SIDE,
        _LEFT,
        _LEFT + _SIDE,
        _text(x, _LOW + 16, "middle", told),
        _text(_LEFT - 6, y + 4, "end", told),
    )  # fmt: skip


def _path(points, n_decades):
    places = [_place(x, y, n_decades) for x, y in points]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) if places else ""


def _place(x, y, n_decades):
    parts = [
        1 + max(math.log10(value), -n_decades) / n_decades if value > 0 else 0
        for value in (x, y)
    ]
    return _LEFT + _SIDE * parts[0], _LOW - _SIDE * parts[1]
