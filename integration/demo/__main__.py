"""`python -m integration.demo`: see `run`."""

import sys

from integration.demo.run import main

sys.exit(main())
