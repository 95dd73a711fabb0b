"""Sensitivities of linear models, in closed form."""

from skpriv.leverage.linear._readers import READERS

LINEAR_MODELS = tuple(sorted(model.__name__ for model in READERS))
