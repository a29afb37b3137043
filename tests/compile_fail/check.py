"""Compiles one program twice: plain, which must pass, and with -DCOMPILE_FAIL, which must fail for the stated reason.

usage: check.py SOURCE INCLUDE_DIR CACHE_DIR [--control-passed] -- COMPILER [FLAG...]

--control-passed: the plain program is left to another compiler's test.

What the library's headers take from elsewhere is precompiled in CACHE_DIR. The bodies are left out: no mistake is found in
them. The reason stands in the source as a regular expression over the compiler's own words (the lines in which it repeats the
source do not count):

    // error: REGEX
    // error(clang): REGEX      only where one compiler says it in other words; (gcc) likewise
"""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "headers"))
from includes import tree
from precompiled import kind_of, precompiled

APART = "-DPENSTOCK_SEPARATE_COMPILATION"
QUIET = ["-fsyntax-only", "-fdiagnostics-color=never"]
ECHO = {"gcc": "-fno-diagnostics-show-caret", "clang": "-fno-caret-diagnostics"}


def reason_in(text, kind):
    """The regular expression that `kind` has to print, or None."""
    for label in (rf"\({kind}\)", ""):
        found = re.search(rf"^// error{label}: (.+?)\s*$", text, re.M)
        if found:
            return found.group(1)
    return None


def form_faults(text):
    """What is wrong with the form of a program, as sentences."""
    faults = []
    if not re.search(r"^// error: .+", text, re.M):
        faults.append("has no line '// error: REGEX'")
    if not re.search(r"^\s*#\s*ifdef COMPILE_FAIL\b(?:(?!^\s*#\s*endif).)*^\s*#\s*else\b", text, re.M | re.S):
        faults.append("has no '#ifdef COMPILE_FAIL ... #else ... #endif': the correction stands in the #else part")
    return faults


def compile_with(command, kind, *extra):
    """The exit status and the diagnostics of one compilation."""
    run = subprocess.run([*command, *QUIET, ECHO[kind], *extra], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return run.returncode, run.stdout + run.stderr


def main():
    split = sys.argv.index("--")
    (source, include, cache, *known), command = sys.argv[1:split], [*sys.argv[split + 1 :], APART]
    kind, files = kind_of(command[0]), tree(include, apart=True)
    command += precompiled(command, kind, files.elsewhere(files.headers()), cache)
    with open(source, encoding="utf-8") as file:
        text = file.read()

    faults = form_faults(text)
    if faults:
        sys.exit(f"{source}: " + "; ".join(faults))
    reason = reason_in(text, kind)

    if not known:
        status, said = compile_with(command, kind, source)
        if status != 0:
            sys.exit(f"{source}: the control does not compile\n{said}")
    status, said = compile_with(command, kind, "-DCOMPILE_FAIL", source)
    if status == 0:
        sys.exit(f"{source}: compiles, but must not")
    if not re.search(reason, said):
        sys.exit(f"{source}: fails for another reason than /{reason}/\n{said}")


if __name__ == "__main__":
    main()
