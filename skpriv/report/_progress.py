"""Signs of life of a long audit."""

import sys
import threading
import time
from contextlib import contextmanager

from skpriv.utils._text import printable

_SECONDS_BETWEEN_SIGNS = 1.0
_FEWEST_SECONDS_TO_EXTRAPOLATE = 1.0


class Silent:
    """Progress that is shown to nobody; see `Progress`."""

    @contextmanager
    def step(self, text, total=None):
        """Enter a step of the work."""
        yield

    def advance(self, done=None):
        """Note that a part of the step is done."""

    def message(self, text):
        """Say something that stays."""

    def close(self):
        """Remove what is shown."""


class Progress(Silent):
    """One line on a terminal that tells the step, and how much of it is left.

    A thread renews the line each second, whatever the work is busy with.

    Parameters
    ----------
    stream : file
        Of a terminal.
    """

    def __init__(self, stream):
        self._stream = stream
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._step = self._shown = None
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    @contextmanager
    def step(self, text, total=None):
        """Enter a step of the work.

        Parameters
        ----------
        text : str
        total : int, default=None
            The number of its parts.
        """
        before, self._step = self._step, [text, total, 0, time.monotonic()]
        self._show()
        try:
            yield
        finally:
            self._step = before

    def advance(self, done=None):
        """Note that a part of the step is done.

        Parameters
        ----------
        done : int, default=None
            How many parts are done in all. None: one more than before.
        """
        if self._step is not None:
            self._step[2] = self._step[2] + 1 if done is None else done
            self._show()

    def message(self, text):
        """Say something that stays.

        Parameters
        ----------
        text : str
        """
        with self._lock:
            self._clear()
            self._stream.write(f"{printable(text)}\n")
            self._stream.flush()

    def close(self):
        """Remove what is shown."""
        self._stop.set()
        self._thread.join()
        with self._lock:
            self._clear()
            self._stream.flush()

    def _renew(self):
        while not self._stop.wait(_SECONDS_BETWEEN_SIGNS):
            self._show()

    def _show(self):
        step = self._step
        if step is None:
            return
        with self._lock:
            line = describe_step(*step[:3], time.monotonic() - step[3])
            self._clear()
            self._stream.write(line)
            self._stream.flush()
            self._shown = line

    def _clear(self):
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
            self._shown = None


def describe_step(text, total, done, seconds):
    """Tell a step, how much of it is done, and how long the rest will take.

    Parameters
    ----------
    text : str
    total : int or None
    done : int
    seconds : float
        Since the step began.

    Returns
    -------
    line : str
    """
    parts = [printable(text)]
    if total:
        parts.append(f"{done} of {total}")
    if total and done and seconds >= _FEWEST_SECONDS_TO_EXTRAPOLATE:
        left = seconds / done * (total - done)
        parts.append(f"about {describe_seconds(left)} left")
    else:
        parts.append(describe_seconds(seconds))
    return "skpriv: " + ", ".join(parts)


def describe_seconds(seconds):
    """Tell a time, as in "12 s" and "3 min 5 s".

    Parameters
    ----------
    seconds : float

    Returns
    -------
    text : str
    """
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def progress_on(stream=None):
    """Return a progress for a stream: silent if it is no terminal.

    Parameters
    ----------
    stream : file, default=None
        None: standard error.

    Returns
    -------
    progress : Silent
    """
    stream = sys.stderr if stream is None else stream
    if stream is not None and stream.isatty():
        return Progress(stream)
    return Silent()


class ShadowProgress:
    """A callback of scikit-learn that counts the shadows of a fit.

    Parameters
    ----------
    progress : Silent
    """

    max_propagation_depth = None

    def __init__(self, progress):
        self._progress = progress

    def setup(self, estimator, context):
        """Do nothing."""

    def teardown(self, estimator, context):
        """Do nothing."""

    def on_fit_task_begin(self, estimator, context, **data):
        """Do nothing."""

    def on_fit_task_end(self, estimator, context, **data):
        """Count a shadow that was trained."""
        if context.task_name == "shadow":
            self._progress.advance()
