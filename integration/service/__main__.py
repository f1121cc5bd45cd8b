"""The service under load: python -m integration.service --rows 8000000 --seconds 60 --by spark"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict
from pathlib import Path

from integration.service.load import loaded


def main() -> None:
    """Print the figures of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--refresh-ms", type=float, default=100)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--pause", type=float, default=1, help="seconds from commit to commit")
    parser.add_argument("--by", choices=("python", "spark"), default="python")
    asked = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        run = loaded(Path(folder), asked.pop("rows"), asked.pop("seconds"), **asked)
    for name, value in asdict(run.report()).items():
        print(f"{name:15} {value:,.2f}".removesuffix(".00"))
    for error in run.errors[:5]:
        print(error)


if __name__ == "__main__":
    main()
