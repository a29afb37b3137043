"""Runs what compiles and must not go on: each case of `misuse` ends with the library's sentence, in a checked build.

usage: check.py MISUSE -- COMPILER [FLAG...]

MISUSE is tests/misuse/misuse.cpp as a checked program. The compiler makes the same program without checks, in which a kept
loan is silent; and it shows that a file with checks and one without do not link.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent

KEPT = "penstock: a borrowed tensor was used after its lease ended; keep to_owned() instead\n"
OUTSIDE = "penstock: a part of a borrowed tensor was asked for that lies outside of it\n"
CASES = {  # how each ends: (in a checked program, in an unchecked one)
    "closure_in_a_function": (KEPT, None),
    "reference_wrapper": (KEPT, None),
    "address": (KEPT, None),
    "address_in_the_next_lease": (KEPT, None),
    "coroutine_that_captures": (KEPT, None),
    "thread_that_runs_on": (KEPT, None),
    "static_reference": (KEPT, None),
    "member_reference": (KEPT, None),
    "bytes_of_the_object": (KEPT, None),
    "part_behind_the_end": (OUTSIDE, OUTSIDE),
    "copy_from_behind_the_end": (OUTSIDE, OUTSIDE),
    "kept_as_an_owned_tensor": (None, None),
}


def faults_of(program, column):
    """What is wrong with the ends of the cases of one program."""
    names = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    faults = [f"{program} has other cases than check.py: {', '.join(sorted(set(names) ^ set(CASES)))}"] if set(names) != set(CASES) else []
    for name, ends in CASES.items():
        run = subprocess.run([program, name], capture_output=True, text=True, timeout=60)
        sentence = ends[column]
        status = -signal.SIGABRT if sentence else 0
        if run.returncode != status or run.stderr != (sentence or ""):
            faults.append(f"{program} {name}: expected status {status} and {sentence!r}, found {run.returncode} and {run.stderr!r}")
    return faults


def links(command, folder, a, b):
    """Links mixed_a.cpp and mixed_b.cpp with PENSTOCK_CHECKED as given; returns the exit status and what was said."""
    objects = []
    for name, checked in (("a", a), ("b", b)):
        objects.append(f"{folder}/{name}{checked}.o")
        subprocess.run([*command, f"-DPENSTOCK_CHECKED={checked}", "-c", f"{here}/mixed_{name}.cpp", "-o", objects[-1]], check=True)
    run = subprocess.run([command[0], *objects, "-o", f"{folder}/mixed"], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def main():
    split = sys.argv.index("--")
    program, command = sys.argv[1], sys.argv[split + 1 :]
    faults = faults_of(program, 0)
    with tempfile.TemporaryDirectory() as folder:
        unchecked = f"{folder}/unchecked"
        subprocess.run([*command, "-DPENSTOCK_CHECKED=0", f"{here}/misuse.cpp", "-pthread", "-o", unchecked], check=True)
        faults += faults_of(unchecked, 1)
        for both in (0, 1):
            status, said = links(command, folder, both, both)
            if status != 0:
                faults.append(f"two files with PENSTOCK_CHECKED={both} do not link\n{said}")
        for a, b in ((0, 1), (1, 0)):
            status, said = links(command, folder, a, b)
            if status == 0:
                faults.append(f"a file with PENSTOCK_CHECKED={a} and one with {b} link into one program")
            elif "undefined reference" not in said or "look" not in said:
                faults.append(f"a file with PENSTOCK_CHECKED={a} and one with {b} do not link, but for another reason\n{said}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
