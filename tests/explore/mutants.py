#!/usr/bin/env python3
"""Breaks the executor in ways that a hurried author would, one at a time.

Each mistake must be found by the explorer or by the stress test, as its table line says; a pattern that is no longer in
the source is an error as well. One mistake is harmless and is only shown to be not found.

    mutants.py [--compiler g++] [--jobs 2] [--only WORD]
"""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = TESTS.parent / "include"
DETAIL = pathlib.Path("penstock/pipeline/detail")

EXPLORER, STRESS, BOTH, NOBODY = ["explorer"], ["stress"], ["explorer", "stress"], []

# name, who must find it, edits: (file, old, new)
MUTANTS = [
    ("a slot is free when its copies are submitted", EXPLORER,
     [("lane.hpp", "if (s.direct || synchronous) return retire(s);", "return retire(s);")]),
    ("complete on submission, not on the event", BOTH,
     [("lane.hpp", "    if (auto marked = stream_.mark(s.done); !marked)",
       "    retire(s), s.state = slot_state::draining, ++draining_;\n"
       "    if (auto marked = stream_.mark(s.done); !marked)")]),
    ("kept bytes leave the slot only when it lands", EXPLORER,
     [("lane.hpp", "if (!has(s, prepared::has_keeps)) return;",
       "if (!has(s, prepared::has_keeps) || !can_land(s)) return;")]),
    ("a complete group tells nobody", EXPLORER,
     [("lane.hpp", "if (load_.keeps.take(c.to)) load_.board.news();", "(void)load_.keeps.take(c.to);")]),
    ("a failure wakes nobody", EXPLORER,
     [("news_board.hpp", "        failed_.store(true);\n        epoch_.fetch_add(1);\n", "        failed_.store(true);\n"),
      ("news_board.hpp", "    for (u32 i = 0; i < lanes_; ++i) bells_[i].ring();\n", "")]),
    ("steps do not wait for their group", EXPLORER,
     [("lane.hpp", "if (!has(s, prepared::has_steps)) return true;", "return true;")]),
    ("the end does not wait for the stream", EXPLORER,
     [("lane.hpp", "if (touched_ && !synchronous) {", "if (false) {")]),
    ("the end does not cancel the reads", EXPLORER,
     [("lane.hpp", "    io_.cancel();\n", "")]),
    ("kept bytes are not counted", EXPLORER,
     [("admission.hpp", "if (more.count && held_ + more > room_) return no_room;", "")]),
    ("the failure is looked at before the epoch", EXPLORER,
     [("lane.hpp", "    if (load_.board.failed()) return need::end;\n", ""),
      ("lane.hpp", "    epoch_ = load_.board.epoch();\n",
       "    if (load_.board.failed()) return need::end;\n    PENSTOCK_POINT();\n    epoch_ = load_.board.epoch();\n")]),
    ("a step that nobody wants does not count", EXPLORER,
     [("lane.hpp", "      if (c.kind == what::step) step_over(s, c, wanted);\n      if (!wanted) continue;\n",
       "      if (!wanted) continue;\n      if (c.kind == what::step) step_over(s, c, wanted);\n")]),
    # The lane that closed it admits the next read itself, and that read's keep rings: it costs time only.
    ("a closing group tells nobody", NOBODY,
     [("lane.hpp", "    load_.reads.close(c.group);\n    load_.board.news();\n", "    load_.reads.close(c.group);\n")]),
]

PROGRAMS = {
    "explorer": ("explore/explore.cpp", [], 300),
    "stress": ("stress/stress.cpp", ["1", "1500"], 90),
}


def pattern(text):
    """The text, wherever its lines are broken."""
    return r"\s+".join(re.escape(word) for word in text.split())


def run(compiler, tree, program):
    """Builds and runs one program over a changed tree. Returns whether it found something, and its last words."""
    source, arguments, limit = PROGRAMS[program]
    binary = tree / program
    build = [compiler, "-std=c++20", "-O1", f"-I{tree}", str(TESTS / source), "-o", str(binary), "-pthread"]
    made = subprocess.run(build, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"mutants: {source} does not compile:\n{made.stderr[:2000]}")
    try:
        ran = subprocess.run([str(binary), *arguments], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return program == "stress", f"hangs for {limit} s"  # the explorer never waits: it has only not ended
    words = (ran.stdout + ran.stderr).strip().splitlines() or [f"status {ran.returncode}"]
    return ran.returncode != 0, words[-1][:100]


def examine(compiler, mutant):
    """Returns whether one mutant behaves as its line says, and a sentence."""
    name, finders, edits = mutant
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        shutil.copytree(INCLUDE / "penstock", tree / "penstock")
        for file, old, new in edits:
            path = tree / DETAIL / file
            text = path.read_text()
            places = re.findall(pattern(old), text)
            if len(places) != 1:
                return False, f"{name}: {file} has {len(places)} places that read {old!r}, expected one"
            path.write_text(text.replace(places[0], new))
        if not finders:
            found, words = run(compiler, tree, "explorer")
            return not found, f"{name}: {'FOUND, though harmless' if found else 'harmless, not found'}: {words}"
        well, sentence = True, name
        for program in finders:
            found, words = run(compiler, tree, program)
            well &= found
            sentence += f": {'found' if found else 'MISSED'} by the {program} ({words})"
        return well, sentence


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="mutants whose name has this word")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if options.only in m[0]]
    if not chosen:
        sys.exit(f"mutants: none has {options.only!r} in its name")
    good = True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for well, sentence in pool.map(lambda m: examine(options.compiler, m), chosen):
            good &= well
            print(("ok   " if well else "FAIL ") + sentence, flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
