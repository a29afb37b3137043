"""Shows that a checked and an unchecked file do not link into one program, and that two of a kind do.

usage: mixed.py -- COMPILER [FLAG...]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent


def link(command, folder, a, b):
    """Links a.cpp and b.cpp, each with PENSTOCK_CHECKED as given; returns the exit status and what was said."""
    objects = []
    for name, checked in (("a", a), ("b", b)):
        target = f"{folder}/{name}{checked}.o"
        subprocess.run([*command, f"-I{folder}", f"-DPENSTOCK_CHECKED={checked}", "-c", f"{here}/{name}.cpp", "-o", target], check=True)
        objects.append(target)
    run = subprocess.run([command[0], *objects, "-o", f"{folder}/program"], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def main():
    command = sys.argv[sys.argv.index("--") + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "everything.hpp").write_text("#pragma once\n#include <penstock/core/result.hpp>\n", encoding="utf-8")
        for both in (0, 1):
            status, said = link(command, folder, both, both)
            if status != 0:
                sys.exit(f"two files with PENSTOCK_CHECKED={both} do not link\n{said}")
        status, said = link(command, folder, 1, 0)
        if status == 0:
            sys.exit("a checked and an unchecked file link into one program")
        if "undefined reference" not in said or "across" not in said:
            sys.exit(f"a checked and an unchecked file do not link, but for another reason\n{said}")


if __name__ == "__main__":
    main()
