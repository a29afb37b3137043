"""Shows that each guard in the headers is what catches its programs, and catches no other's.

usage: guards.py INCLUDE_DIR PROGRAM_DIR CACHE_DIR -- COMPILER [FLAG...]

A guard is marked in a header, on its line or around its lines:

    void value() const&& = delete;  // guard: NAME
    // guard-begin: NAME
    // guard-end: NAME

On its line means on the last line of its declaration, which is deleted whole. A program says which guards it stands for:
a line `// guard: NAME`. In copies of the headers,

  * each guard is deleted alone: its programs must stop being caught, that is compile, or fail with other words; and what
    fails with other words must have a control that compiles, so that a guard was deleted and not half a declaration;
  * for each program, all guards that it does not name are deleted at once: it must still be caught. What catches it then
    catches it with any one of them deleted, for a guard can only refuse. Where it is not caught, halves of them are
    deleted, and so on, down to one.
"""

import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

sys.path.append(str(Path(__file__).resolve().parent.parent / "headers"))
from check import APART, compile_with, form_faults, reason_in
from includes import INCLUDE, tree, without_comments
from precompiled import kind_of, precompiled

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
        self.includes = [name for _, name in INCLUDE.findall(text) if name in files.files]
        self.reaches = {name for header in self.includes for name in files.closure(header)[0]}


class bench:
    """Compiles programs against copies of the headers."""

    def __init__(self, folder, cache, files, places, command):
        self.folder, self.files, self.places, self.command = Path(folder), files, places, [*command, APART]
        self.kind = kind_of(command[0])
        self.copies, self.lock = {}, Lock()
        self.first = precompiled(self.command, self.kind, files.elsewhere(files.headers()), cache)

    def without(self, guards):
        """An include folder in which these guards are missing; each set is laid out once."""
        guards = frozenset(guards)
        with self.lock:
            if guards not in self.copies:
                self.copies[guards] = copy = self.folder / f"include{len(self.copies)}"
                shutil.copytree(self.files.root, copy)
                for name in {name for g in guards for name in self.places[g]}:
                    gone = set().union(*(self.places[g].get(name, set()) for g in guards))
                    lines = (copy / name).read_text(encoding="utf-8").split("\n")
                    (copy / name).write_text("\n".join("" if at in gone else l for at, l in enumerate(lines)), encoding="utf-8")
            return self.copies[guards]

    def compile(self, include, p, *extra):
        return compile_with([self.command[0], f"-I{include}", *self.command[1:], *self.first], self.kind, *extra, str(p.path))

    def caught(self, include, p):
        """Caught, compiled or other: what becomes of the program's mistake; and what was said."""
        status, said = self.compile(include, p, "-DCOMPILE_FAIL")
        return ("compiled" if status == 0 else "caught" if p.reason.search(said) else "other"), said

    def needs(self, p, guard):
        """Faults: is it this guard that catches the program?"""
        include = self.without({guard})
        fate, said = self.caught(include, p)
        if fate == "caught":
            return [f"without guard {guard}, {p.name} is still caught"]
        status, control = self.compile(include, p, "-Wno-error") if fate == "other" else (0, "")
        return [f"without guard {guard}, the control of {p.name} does not compile\n{control}"] if status != 0 else []

    def needs_no_other(self, p):
        """Faults: does another guard than those it names catch it?"""
        if self.caught(self.files.root, p)[0] != "caught":
            return [f"{p.path}: is not caught, with every guard in place"]
        others = sorted(g for g in self.places if g not in p.guards and p.reaches & set(self.places[g]))
        return [f"without guard {g}, which it does not name, {p.name} is no longer caught" for g in self.that_matter(p, others)]

    def that_matter(self, p, guards):
        """Those of the guards without which, each deleted alone, the program is not caught."""
        if not guards or self.caught(self.without(guards), p)[0] == "caught":
            return []
        if len(guards) == 1:
            return guards
        half = len(guards) // 2
        return self.that_matter(p, guards[:half]) + self.that_matter(p, guards[half:])


def main():
    split = sys.argv.index("--")
    (root, where, cache), command = sys.argv[1:split], sys.argv[split + 1 :]
    files = tree(root, apart=True)
    places = {}
    for name in files.files:
        for guard, lines in guards_in(name, (files.root / name).read_text(encoding="utf-8")).items():
            places.setdefault(guard, {})[name] = lines
    programs = [program(path, kind_of(command[0]), files) for path in sorted(Path(where).glob("*.cpp"))]

    faults = [f"{p.path}: names guard {g}, which no header has" for p in programs for g in p.guards - set(places)]
    faults += [f"{next(iter(at))}: no program stands for guard {g}" for g, at in places.items() if not any(g in p.guards for p in programs)]
    if not places or not programs:
        faults.append(f"{len(places)} guards and {len(programs)} programs: nothing to show")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        run = bench(folder, cache, files, places, command)
        pairs = [(p, g) for p in programs for g in sorted(p.guards & set(places))]
        needed = pool.map(lambda pair: run.needs(*pair), pairs)
        others = pool.map(run.needs_no_other, programs)
        faults += [fault for found in (*needed, *others) for fault in found]
    for guard in sorted(places):
        print(f"{guard}: {', '.join(p.name for p in programs if guard in p.guards) or 'no program'}")
    print(f"caught by what is not there to be deleted: {', '.join(p.name for p in programs if not p.guards) or 'none'}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
