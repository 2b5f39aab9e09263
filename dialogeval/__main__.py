"""`python -m dialogeval` is the command `dialogeval`."""

import sys

from .cli import main

sys.exit(main())
