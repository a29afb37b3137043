"""The reference's own tests, which need no program."""

import runpy
import sys

from support import TESTS

if __name__ == "__main__":
    sys.argv = [sys.argv[0]]
    runpy.run_path(str(TESTS / "reference" / "test_reference.py"), run_name="__main__")
