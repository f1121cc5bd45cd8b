"""`python -m integration.examples` runs the notebooks anew and keeps their outputs."""

import nbformat

from integration.examples.notebooks import NOTEBOOKS, executed

for path in NOTEBOOKS:
    nbformat.write(executed(path), path)
