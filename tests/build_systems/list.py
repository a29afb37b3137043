"""Prints the files of the project that match patterns, one a line, sorted: what globbing is for Meson.

usage: list.py PATTERN...      relative to the project, e.g. 'tests/unit/**/*.cpp'
"""

import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
print("\n".join(sorted({path.relative_to(root).as_posix() for pattern in sys.argv[1:] for path in root.glob(pattern)})))
