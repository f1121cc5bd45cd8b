"""`python -m keyfold.bridge`: the fork server, started by the JVM and by nobody else."""

import sys

from keyfold.bridge.start import main

if __name__ == "__main__":
    sys.exit(main())
