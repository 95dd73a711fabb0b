"""Leverages of neural networks."""
