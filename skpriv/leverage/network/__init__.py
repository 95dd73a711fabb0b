"""Leverage of neural networks: their layers, curvature and solvers."""
