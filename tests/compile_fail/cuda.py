"""Compiles the mistakes that an engine may make in its own .cu files with nvcc: each must fail for the reason that it states.

usage: cuda.py PROGRAM_DIR NVCC -- FLAG...

The programs are those whose names begin as in FAMILIES. That their corrections compile, g++ and clang++ say; that nvcc takes
the headers, the test headers/nvcc says. Where nvcc has other words, a program has a line

    // error(nvcc): REGEX
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check import APART, reason_in

FAMILIES = ("map_", "mla_", "retained_", "retention_", "scheme_")


def fault_of(path, command):
    """What is wrong with one program, or None."""
    run = subprocess.run([*command, "-DCOMPILE_FAIL", "-c", path, "-o", os.devnull], capture_output=True, text=True)
    reason = reason_in(path.read_text(encoding="utf-8"), "nvcc")
    if run.returncode == 0:
        return f"{path}: compiles, but must not"
    if not re.search(reason, run.stdout + run.stderr):
        return f"{path}: fails for another reason than /{reason}/\n{run.stdout}{run.stderr}"
    return None


def main():
    split = sys.argv.index("--")
    (where, nvcc), flags = sys.argv[1:split], [f for f in sys.argv[split + 1 :] if not f.startswith(("-W", "-isystem"))]
    programs = sorted(path for path in Path(where).glob("*.cpp") if path.name.startswith(FAMILIES))
    if not programs:
        sys.exit(f"{where}: no programs")
    command = [nvcc, "-x", "cu", "-arch=sm_90", *flags, APART]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        faults = [fault for fault in pool.map(lambda path: fault_of(path, command), programs) if fault]
    print(f"{len(programs)} programs")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
