"""What every part may use: private scikit-learn and optional packages."""
