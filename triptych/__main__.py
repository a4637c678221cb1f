"""`python -m triptych`: the command line."""

import sys

from triptych.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
