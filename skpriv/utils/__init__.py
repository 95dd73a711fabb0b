"""Helpers for all parts of skpriv, such as imports of optional packages."""
