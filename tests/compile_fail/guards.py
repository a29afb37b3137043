"""Shows that each guard in the headers is what catches its programs, and catches no other's.

usage: guards.py INCLUDE_DIR PROGRAM_DIR -- COMPILER [FLAG...]

A guard is marked in a header, on its line or around its lines:

    void value() const&& = delete;  // guard: NAME
    // guard-begin: NAME
    // guard-end: NAME

On its line means on the last line of its declaration, which is deleted whole. A program says which guards it stands for: a line `// guard: NAME`. Each guard is deleted in turn, in a copy of the
headers. Then exactly the programs that name it must stop being caught: they compile, or fail with other words. Their
controls must still compile, so that it is the guard that was deleted and not half a declaration.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "headers"))
from check import compile_with, form_faults, kind_of, reason_in
from includes import INCLUDE, tree, without_comments

LINE = re.compile(r"\S.*//\s*guard:\s*(\w+)\s*$")
BEGIN = re.compile(r"^\s*//\s*guard-begin:\s*(\w+)\s*$")
END = re.compile(r"^\s*//\s*guard-end:\s*(\w+)\s*$")


def declaration_ending_at(code, at):
    """The lines of the declaration that ends on line `at`: back to where the one before it ended."""
    first = at
    if code[at].rstrip().endswith((";", "}")):
        while first > 0 and code[first - 1].strip() and not re.search(r"[;{}:]\s*$|^\s*#|^PENSTOCK_", code[first - 1]):
            first -= 1
    return range(first, at + 1)


def guards_in(name, text):
    """{guard: the set of line indices to delete} of one file."""
    found, open_at, code = {}, {}, without_comments(text).split("\n")
    for at, line in enumerate(text.split("\n")):
        if begin := BEGIN.match(line):
            open_at[begin.group(1)] = at
        elif end := END.match(line):
            if end.group(1) not in open_at:
                sys.exit(f"{name}:{at + 1}: the end of guard {end.group(1)}, which did not begin")
            found.setdefault(end.group(1), set()).update(range(open_at.pop(end.group(1)), at + 1))
        elif single := LINE.search(line):
            found.setdefault(single.group(1), set()).update(declaration_ending_at(code, at))
    for guard, at in open_at.items():
        sys.exit(f"{name}:{at + 1}: guard {guard} begins and does not end")
    return found


class program:
    def __init__(self, path, kind, files):
        self.path, self.name = path, path.stem
        text = path.read_text(encoding="utf-8")
        for fault in form_faults(text):
            sys.exit(f"{path}: {fault}")
        self.reason = re.compile(reason_in(text, kind))
        self.guards = {g for names in re.findall(r"^// guard: (.+)$", text, re.M) for g in re.split(r"[\s,]+", names.strip())}
        self.reaches = set()
        for _, name in INCLUDE.findall(text):
            if name in files.files:
                self.reaches.update(files.closure(name)[0])


class bench:
    """Compiles programs against a copy of the headers; what comes from elsewhere is precompiled once."""

    def __init__(self, folder, files, command, jobs):
        self.kind = kind_of(command[0])
        self.command = command
        self.pool = ThreadPoolExecutor(jobs)
        everything = Path(folder) / "elsewhere.hpp"
        names = sorted({name for header in files.headers() for name in files.closure(header)[1]})
        everything.write_text("".join(f"#include <{name}>\n" for name in names), encoding="utf-8")
        self.first = ["-include", str(everything)]
        if self.kind == "gcc":
            subprocess.run([*command, "-x", "c++-header", str(everything), "-o", f"{everything}.gch"], check=True)

    def compile(self, include, p, *extra):
        return compile_with([*self.command[:1], f"-I{include}", *self.command[1:], *self.first], self.kind, *extra, str(p.path))

    def caught(self, include, p):
        status, said = self.compile(include, p, "-DCOMPILE_FAIL")
        return status != 0 and p.reason.search(said) is not None

    def judge(self, include, programs, controls):
        """The programs that are caught, and what is said against the controls that do not compile."""
        failing = self.pool.map(lambda p: self.caught(include, p), programs)
        plain = self.pool.map(lambda p: self.compile(include, p), controls)
        broken = [f"{p.path}: the control does not compile\n{said}" for p, (status, said) in zip(controls, plain) if status != 0]
        return {p for p, yes in zip(programs, failing) if yes}, broken


def without(files, places, folder):
    """A copy of the include folder without the lines of `places`: {file: line indices}."""
    copy = Path(folder) / "include"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(files.root, copy)
    for name, gone in places.items():
        lines = (files.root / name).read_text(encoding="utf-8").split("\n")
        (copy / name).write_text("\n".join("" if at in gone else line for at, line in enumerate(lines)), encoding="utf-8")
    return copy


def main():
    split = sys.argv.index("--")
    (root, where), command = sys.argv[1:split], sys.argv[split + 1 :]
    files = tree(root)
    places = {}
    for name in files.files:
        for guard, lines in guards_in(name, (files.root / name).read_text(encoding="utf-8")).items():
            places.setdefault(guard, {})[name] = lines
    programs = [program(path, kind_of(command[0]), files) for path in sorted(Path(where).glob("*.cpp"))]

    faults = [f"{p.path}: names guard {g}, which no header has" for p in programs for g in p.guards - set(places)]
    faults += [f"{next(iter(at))}: no program stands for guard {g}" for g, at in places.items() if not any(g in p.guards for p in programs)]
    if not places or not programs:
        faults.append(f"{len(places)} guards and {len(programs)} programs: nothing to show")
    with tempfile.TemporaryDirectory() as folder:
        run = bench(folder, files, command, os.cpu_count() or 1)
        caught, broken = run.judge(files.root, programs, programs)
        faults += broken + [f"{p.path}: is not caught, with every guard in place" for p in programs if p not in caught]
        for guard, at in sorted(places.items()):
            near = [p for p in programs if p in caught and p.reaches & set(at)]
            meant = {p for p in near if guard in p.guards}
            still, broken = run.judge(without(files, at, folder), near, sorted(meant, key=lambda p: p.name))
            faults += [f"without guard {guard}, {p.name} is still caught" for p in meant & still]
            faults += [f"without guard {guard}, {p.name}, which does not name it, is no longer caught" for p in set(near) - meant - still]
            faults += [f"without guard {guard}: {said}" for said in broken]
            print(f"{guard}: {', '.join(sorted(p.name for p in meant)) or 'no program'}")
    unguarded = [p.name for p in programs if not p.guards]
    if unguarded:
        print(f"caught by what is not there to be deleted: {', '.join(unguarded)}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
