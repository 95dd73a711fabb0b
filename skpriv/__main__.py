"""Let ``python -m skpriv`` be the command ``skpriv``."""

import sys

from skpriv.cli import main

if __name__ == "__main__":
    sys.exit(main())
