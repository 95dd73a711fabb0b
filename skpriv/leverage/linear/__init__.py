"""Sensitivities of linear models, in closed form."""
