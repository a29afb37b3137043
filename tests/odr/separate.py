"""Shows that, with PENSTOCK_SEPARATE_COMPILATION, no include of an engine's reaches another project's headers.

usage: separate.py EVERYTHING_HPP -- COMPILER [FLAG...]
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "headers"))
from includes import THIRD_PARTY


def reached(command, everything, *extra):
    """The headers of other projects among those that the compiler says the file depends on."""
    said = subprocess.run([*command, *extra, "-M", everything], capture_output=True, text=True, check=True).stdout
    files = re.split(r"[\s\\]+", said)
    return [f for f in files if any(THIRD_PARTY.match("/".join(f.split("/")[-n:])) for n in (1, 2)) and "/penstock/" not in f]


def main():
    split = sys.argv.index("--")
    everything, command = sys.argv[1], sys.argv[split + 1 :]
    if not reached(command, everything):
        sys.exit("by default nothing of another project is reached either: this test would see nothing")
    found = reached(command, everything, "-DPENSTOCK_SEPARATE_COMPILATION")
    found = [f for f in found if not re.match("cuda|nv", Path(f).name)]  # of device::cuda, whose interface names its types
    if found:
        sys.exit("reached in spite of PENSTOCK_SEPARATE_COMPILATION:\n" + "\n".join(found))


if __name__ == "__main__":
    main()
