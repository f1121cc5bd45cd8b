"""Commands of dbt in one process, and so in one Spark session: `python program.py STEP…`, each in
JSON: the words of a command, or the texts of files to write before the next one. Prints, for each
command, what became of each node.
"""

import json
import sys
from pathlib import Path

from dbt.cli.main import dbtRunner

for step in map(json.loads, sys.argv[1:]):
    if isinstance(step, dict):
        for path, text in step.items():
            Path(path).write_text(text, encoding="utf-8")
        continue
    done = dbtRunner().invoke(step)
    if done.exception:
        raise SystemExit(f"{step}: {done.exception}")
    nodes = [result for result in getattr(done.result, "results", ()) if hasattr(result, "node")]
    print("DONE", json.dumps({r.node.name: [str(r.status), r.message] for r in nodes}), flush=True)
