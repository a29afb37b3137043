"""What the tests of the program share: running it, servers, and the reference."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = TESTS / "data"
sys.path.insert(0, str(TESTS / "reference"))
