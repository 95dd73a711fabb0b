"""Sensitivities of neural networks: reading them, their curvature, and solvers."""
