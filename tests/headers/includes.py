"""What the headers include, read from their text. Shared by the structural tests."""

import re
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
# A body that stands beside its declarations, or, where the engine says so, in one file of its own.
SEPARATE = re.compile(r"^#ifndef PENSTOCK_SEPARATE_COMPILATION\s*\n#\s*include <(\S+\.ipp)>\s*\n#endif\s*$", re.M)
THIRD_PARTY = re.compile(r"^(simdjson|curl/|openssl/|pugixml|re2/|CLI/|boost/|cuda|nccl|nvtx)")


def without_comments(text):
    """The text with its comments blanked; lines keep their numbers."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group(0)) if found.group(0)[0] == "/" else found.group(0)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)
BODIES = ("penstock/src.hpp", "penstock/src_http.hpp")


class tree:
    """The files under an include folder, and what reaches what; if `apart`, with PENSTOCK_SEPARATE_COMPILATION."""

    def __init__(self, root, apart=False):
        self.root = Path(root)
        found = [p for p in self.root.glob("penstock/**/*") if p.suffix in (".hpp", ".ipp")]
        self.files = {p.relative_to(self.root).as_posix(): without_comments(p.read_text(encoding="utf-8")) for p in sorted(found)}
        if apart:
            self.files = {name: SEPARATE.sub("", text) for name, text in self.files.items()}

    def headers(self):
        """All that can be included as they are; the files of bodies are for PENSTOCK_SEPARATE_COMPILATION alone."""
        return [name for name in self.files if name.endswith(".hpp") and name not in BODIES]

    def includes(self, name):
        """(line, quote, included) of each include of one file."""
        text = self.files[name]
        return [(text.count("\n", 0, m.start()) + 1, m.group(1), m.group(2)) for m in INCLUDE.finditer(text)]

    def closure(self, *names):
        """What headers reach: {file: the file that includes it}, for the library's files and for all others."""
        own, others, todo = dict.fromkeys(names), {}, list(names)
        while todo:
            here = todo.pop()
            for _, _, there in self.includes(here):
                if there in self.files and there not in own:
                    own[there] = here
                    todo.append(there)
                elif there not in self.files and not there.startswith("penstock/"):
                    others.setdefault(there, here)
        return own, others

    def elsewhere(self, names):
        """What these headers take from outside the library."""
        return set(self.closure(*names)[1])

    def third_party(self, name):
        """The includes of other projects that a header reaches: {include: the file that has it}."""
        return {there: here for there, here in self.closure(name)[1].items() if THIRD_PARTY.match(there)}

    def chain(self, own, name):
        """How `name` was reached, for a message: a <- b <- c."""
        steps = [name]
        while own.get(steps[-1]):
            steps.append(own[steps[-1]])
        return " <- ".join(steps)
