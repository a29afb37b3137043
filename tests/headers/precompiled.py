"""What headers take from elsewhere (the standard library, mostly), precompiled: parsing it is most of what a check costs."""

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path


def kind_of(compiler):
    """gcc or clang, by what the command says of itself."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return "clang" if "clang" in said else "gcc"


def precompiled(command, kind, names, folder):
    """The flags that include `names` first. They are compiled once for each command and folder, whoever asks at once."""
    text = "".join(f"#include <{name}>\n" for name in sorted(names))
    key = hashlib.sha256(repr((command, text)).encode()).hexdigest()[:16]
    here = Path(folder) / key
    here.mkdir(parents=True, exist_ok=True)
    header = here / "elsewhere.hpp"
    made = here / ("elsewhere.hpp.gch" if kind == "gcc" else "elsewhere.pch")
    with open(here / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            header.write_text(text, encoding="utf-8")
            subprocess.run([*command, "-x", "c++-header", str(header), "-o", f"{made}.new"], check=True)
            os.replace(f"{made}.new", made)
    return ["-include", str(header)] if kind == "gcc" else ["-include-pch", str(made)]
