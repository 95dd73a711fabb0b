"""Configuration of the documentation, for Sphinx."""

import skpriv
from skpriv.leverage.linear import LINEAR_MODELS

project = "skpriv"
author = "The skpriv developers"
copyright = f"2026, {author}"
release = version = skpriv.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath", "deflist", "substitution"]
myst_substitutions = {"linear_models": ", ".join(f"`{name}`" for name in LINEAR_MODELS)}
myst_heading_anchors = 3
exclude_patterns = ["_build"]
templates_path = ["_templates"]

autosummary_generate = True
# The pages of a package list what is in its `__all__`.
autosummary_ignore_module_all = False
autosummary_imported_members = True
numpydoc_class_members_toctree = False
# scikit-learn's methods (metadata routing among them) are documented there.
numpydoc_show_class_members = False

# The examples draw the pictures of the guide.
plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False

html_theme = "alabaster"
html_theme_options = {
    "description": "Which training records does a model expose, and how much?",
    "page_width": "1100px",
}
