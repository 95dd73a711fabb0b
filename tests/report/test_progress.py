"""Signs of life of a long audit."""

import io
import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skpriv.report import _progress
from skpriv.report._audit import audit_subject
from skpriv.report._conduct import Settings
from skpriv.report._progress import Progress, describe_step, progress_on
from skpriv.report._subject import make_subject


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_shown_to_a_pipe():
    stream = io.StringIO()
    progress = progress_on(stream)
    with progress.step("working", 3):
        progress.advance()
    progress.close()
    assert stream.getvalue() == ""


def test_a_terminal_shows_each_step_and_is_clean_at_the_end():
    stream = Terminal()
    progress = progress_on(stream)
    with progress.step("training", 3):
        progress.advance()
        progress.advance()
    progress.message("done\x1b[2J")
    progress.close()
    shown = stream.getvalue()
    assert "skpriv: training, 1 of 3, 0 s" in shown
    assert "skpriv: training, 2 of 3, 0 s" in shown
    assert "done\\x1b[2J\n" in shown
    assert "\x1b" not in shown
    assert shown.rsplit("\r", 1)[-1] in ("", "done\\x1b[2J\n")


def test_the_line_is_renewed_while_the_work_is_silent(monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_SIGNS", 0.01)
    stream = Terminal()
    progress = Progress(stream)
    with progress.step("waiting"):
        until = time.monotonic() + 5
        while stream.getvalue().count("waiting") < 3 and time.monotonic() < until:
            time.sleep(0.01)
    progress.close()
    assert stream.getvalue().count("waiting") >= 3


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (("reading", None, 0, 3.2), "skpriv: reading, 3 s"),
        (("training", 16, 0, 4.0), "skpriv: training, 0 of 16, 4 s"),
        (("training", 16, 4, 8.0), "skpriv: training, 4 of 16, about 24 s left"),
        (("training", 16, 1, 20.0), "skpriv: training, 1 of 16, about 5 min 0 s left"),
    ],
)
def test_time_left_is_told_once_it_is_known(step, line):
    assert describe_step(*step) == line


def test_an_audit_names_its_steps_and_counts_its_shadows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    stream = Terminal()
    progress = Progress(stream)
    subject = make_subject(X, y)
    audit_subject(
        LogisticRegression(), subject, Settings(n_shadows=8, progress=progress)
    )
    progress.close()
    shown = stream.getvalue()
    for sign in (
        "training shadow models, 8 of 8",
        "predicting records left out, 5 of 5",
        "looking for reasons",
    ):
        assert sign in shown
