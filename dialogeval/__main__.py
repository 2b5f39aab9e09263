"""`python -m dialogeval` is the command `dialogeval`."""

import sys

from dialogeval.cli import main

sys.exit(main())
