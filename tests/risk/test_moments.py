"""Moments agree with their definitions, record by record."""

import numpy as np
import pytest

from skpriv.risk._moments import moments


def naive(in_, out):
    mean_in, mean_out = in_[np.isfinite(in_)], out[np.isfinite(out)]
    gap = mean_in.mean() - mean_out.mean() if mean_in.size and mean_out.size else np.nan
    degrees = max(mean_in.size - 1, 0) + max(mean_out.size - 1, 0)
    squares = sum(((s - s.mean()) ** 2).sum() for s in (mean_in, mean_out) if s.size)
    variance = squares / degrees if degrees else np.nan
    return gap, mean_out.mean() if mean_out.size else np.nan, variance


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.8])
def test_moments_agree_with_a_loop_over_records(missing):
    rng = np.random.default_rng(0)
    in_, out = rng.normal(size=(2, 4, 50))
    in_[rng.random(in_.shape) < missing] = np.nan
    out[rng.random(out.shape) < missing] = np.nan
    expected = np.array([naive(in_[:, i], out[:, i]) for i in range(50)]).T
    np.testing.assert_allclose(moments(in_, out), expected, rtol=1e-12)
