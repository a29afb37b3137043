"""Compiles headers on their own.

usage: check.py INCLUDE_DIR WHAT --compiler COMPILER [--compiler COMPILER ...] [--nvcc NVCC] -- FLAG...

WHAT is one of
    penstock/FOLDER/NAME.hpp   the header, alone and twice in one file: as for PENSTOCK_SEPARATE_COMPILATION, but one that
                               brings a body with that body by the first compiler
    hostile_macros             all headers, where other libraries' macros are around
    without_exceptions         those that need no other project, with -fno-exceptions -fno-rtti, checked and unchecked
    nvcc                       those for an engine's kernels, as CUDA
"""

import argparse
import os
import subprocess
import sys
import tempfile

from includes import SEPARATE, tree

# Names that headers of X11, glog, PyTorch and the C library define as macros.
HOSTILE = """Always Bool CHECK CHECK_EQ DCHECK DEBUG ERROR FALSE FATAL False INFO LOG None OK Status Success TRUE True VLOG
WARNING linux major makedev minor unix""".split()

# The folders whose headers an engine's own .cu files may include.
FOR_KERNELS = ("core", "tensor", "quant", "arch", "plan", "device")


def compile_text(command, text):
    """Compiles a text that is given on standard input; returns what the compiler said against it, or None."""
    run = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=text, capture_output=True, text=True)
    return None if run.returncode == 0 else f"{' '.join(command)}\n{run.stdout}{run.stderr}"


def twice(header):
    return f"#include <{header}>\n#include <{header}>\n"


def among_hostile_macros(headers, flags):
    """Everything that the headers take from elsewhere first, then the macros, then every header."""
    with_cuda = any(os.path.exists(os.path.join(f.removeprefix("-isystem"), "cuda_runtime_api.h")) for f in flags)
    names = [n for n in headers.headers() if with_cuda or not any(t.startswith("cuda") for t in headers.third_party(n))]
    elsewhere = sorted(headers.elsewhere(names))
    lines = [f"#include <{name}>" for name in elsewhere]
    lines += [f"#undef {name}\n#define {name} @this_name_is_a_macro_elsewhere@" for name in HOSTILE]
    lines += [f"#include <{name}>" for name in names]
    return "\n".join(lines) + "\n"


def of_this_project_alone(headers):
    return [name for name in headers.headers() if not headers.third_party(name)]


def compile_cuda(nvcc, flags, headers):
    """As compile_text, for nvcc, which wants a file and makes one."""
    names = [name for name in of_this_project_alone(headers) if name.split("/")[1] in FOR_KERNELS]
    if not names:
        return "no header of " + ", ".join(FOR_KERNELS) + " was found"
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "headers.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write("".join(f"#include <{name}>\n" for name in names) + "__global__ void kernel(int* out) { *out = 1; }\n")
        command = [nvcc, *flags, "-arch=sm_90", "-c", source, "-o", os.path.join(folder, "headers.o")]
        run = subprocess.run(command, capture_output=True, text=True)
        return None if run.returncode == 0 else f"{' '.join(command)}\n{run.stdout}{run.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("include")
    parser.add_argument("what")
    parser.add_argument("--compiler", action="append", default=[])
    parser.add_argument("--nvcc")
    split = sys.argv.index("--")
    given, flags = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    headers = tree(given.include)
    commands = [[compiler, *flags] for compiler in given.compiler]

    if given.what == "nvcc":
        said = [compile_cuda(given.nvcc, [f for f in flags if not f.startswith(("-W", "-isystem"))], headers)]
    elif given.what == "hostile_macros":
        said = [compile_text(command, among_hostile_macros(headers, flags)) for command in commands]
    elif given.what == "without_exceptions":
        text = "".join(f"#include <{name}>\n" for name in of_this_project_alone(headers))
        bare = ["-fno-exceptions", "-fno-rtti"]
        said = [compile_text([*command, *bare, *more], text) for command in commands for more in ([], ["-DNDEBUG"])]
    else:
        if given.what not in headers.files:
            sys.exit(f"{given.what}: no such header")
        apart = [[*command, "-DPENSTOCK_SEPARATE_COMPILATION"] for command in commands]
        if SEPARATE.search(headers.files[given.what]):
            apart[0] = commands[0]
        said = [compile_text(command, twice(given.what)) for command in apart]
    said = [text for text in said if text]
    if said:
        sys.exit(f"{given.what}:\n" + "\n".join(said))


if __name__ == "__main__":
    main()
