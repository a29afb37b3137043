#!/usr/bin/env python3
"""What including Penstock costs, over a unit with the standard headers that it includes.

    compile_time.py [--rounds N] [--json FILE] [--compiler COMMAND]...

User seconds of the compiler, the units by turns, the best of all rounds: parsed (-fsyntax-only), and compiled with -O2."""

import argparse
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
SEPARATE = "-DPENSTOCK_SEPARATE_COMPILATION"
OTHERS = re.compile(r"(penstock|sanitizer|simdjson|curl|openssl|pugixml|cuda|nccl)")
LOAD = """#include <penstock/penstock.hpp>
struct policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
struct sink {
  std::byte* at;
  penstock::placement destination(penstock::parameter const&) { return {at, {}, {}}; }
};
bool load(penstock::pipeline<policies>& loader, sink& to) {
  auto const model = loader.open("");
  if (!model) return false;
  auto const plan = loader.plan(*model, {}, {});
  return plan && loader.load(*plan, to);
}
"""


def command_of(compiler, *flags):
    return [compiler, "-std=c++20", f"-I{INCLUDE}", "-pthread", *flags]


def standard_headers(compiler, unit, *flags):
    """The headers of no other project that our files, as far as `unit` reaches them, name."""
    made = subprocess.run([*command_of(compiler, *flags), "-M", unit], capture_output=True, text=True, check=True)
    ours = [f for f in re.split(r"[\s\\]+", made.stdout) if f.startswith(str(INCLUDE))]
    named = {h for f in ours for h in re.findall(r"^#\s*include <([^>]+)>", pathlib.Path(f).read_text(), re.M)}
    return sorted(h for h in named if not OTHERS.match(h))


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(compiler, rounds, folder):
    """Yields (unit, mode, seconds, ratio to the standard headers of that way to compile)."""
    empty = folder / "whole.cpp"
    empty.write_text("#include <penstock/penstock.hpp>\n")
    load = folder / "load.cpp"
    load.write_text(LOAD)
    base = {}
    for way, flags in (("header-only", []), ("separate", [SEPARATE])):
        base[way] = folder / f"standard_{way}.cpp"
        base[way].write_text("".join(f"#include <{h}>\n" for h in standard_headers(compiler, empty, *flags)))
    for mode, mode_flags in (("parsed", ["-fsyntax-only"]), ("-O2", ["-O2", "-DNDEBUG", "-c", "-o", folder / "out.o"])):
        units = []
        for way, flags in (("header-only", []), ("separate", [SEPARATE])):
            for name, file in (("standard headers", base[way]), ("penstock.hpp", empty), ("penstock.hpp and a load", load)):
                units.append((way, name, [*command_of(compiler, *flags), *mode_flags, file]))
        best = [float("inf")] * len(units)
        for turn in range(rounds):
            order = range(len(units)) if turn % 2 == 0 else reversed(range(len(units)))
            for i in order:
                best[i] = min(best[i], user_seconds(units[i][2]))
        for i, (way, name, _) in enumerate(units):
            yield way, name, mode, best[i], best[i] / best[0 if way == "header-only" else 3]


def main():
    wanted = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted.add_argument("--rounds", type=int, default=5)
    wanted.add_argument("--json", type=pathlib.Path)
    wanted.add_argument("--compiler", action="append")
    wanted = wanted.parse_args()
    compilers = wanted.compiler or [c for c in ("g++", "clang++-14", "clang++") if shutil.which(c)][:2]
    if not compilers:
        sys.exit("expected g++ or clang++, found neither")
    for compiler in compilers:
        with tempfile.TemporaryDirectory() as folder:
            for way, name, mode, seconds, ratio in measure(compiler, wanted.rounds, pathlib.Path(folder)):
                print(f"{compiler:10} {mode:7} {way:12} {name:24} {seconds:6.2f} user s  {ratio:5.2f} x", flush=True)
                if wanted.json:
                    row = {"compiler": compiler, "mode": mode, "way": way, "unit": name, "user_seconds": seconds}
                    with wanted.json.open("a") as f:
                        f.write(json.dumps({"benchmark": "compile time", **row, "ratio": ratio}) + "\n")


if __name__ == "__main__":
    main()
