"""Guards the layers: who may include whom, and what stays out of the declarations.

usage: check.py INCLUDE_DIR

First the check proves itself: small trees, each with one fault, must be caught, and a good one must pass.
"""

import re
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "headers"))
from includes import BODIES, SEPARATE, THIRD_PARTY, tree

# A folder includes itself and what stands before it.
LAYERS = "core tensor format net storage model quant arch plan device exchange pipeline".split()

# An engine can have these without any other project's headers.
PURE_FOLDERS = ("core", "tensor", "quant", "arch", "device")
PURE_FILES = ("penstock/plan/plan.hpp",)

# The device of CUDA's is the one that has its types in its declarations.
CUDA = re.compile(r"penstock/device/cuda[a-z_]*\.hpp$")

# A load is given only the plan.
EXECUTOR = "penstock/pipeline/executor.hpp"
NOT_FOR_THE_EXECUTOR = ("quant", "arch", "model")

# Names of other projects, which no declaration may use.
FOREIGN = re.compile(r"\bsimdjson::|\bpugi::|\bCURL[A-Za-z_]*\b|\bcurl_\w+|\b(?:SSL|EVP|HMAC|BIO)_\w+")
MOST_LINES = 400


def layer_of(name):
    """core for penstock/core/bytes.hpp; None for penstock/penstock.hpp."""
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else None


def order_faults(files):
    for name in files.files:
        here = layer_of(name)
        if here is not None and here not in LAYERS:
            yield f"{name}: '{here}' is no layer"
            continue
        for line, quote, there in files.includes(name):
            if there not in files.files:
                if quote == '"' or there.startswith((".", "penstock/")):
                    yield f"{name}:{line}: includes {there}, which is no file of include/; write <penstock/FOLDER/NAME.hpp>"
            elif quote == '"':
                yield f"{name}:{line}: includes \"{there}\"; write <{there}>"
            elif "/detail/" in there and here is not None and layer_of(there) != here:
                yield f"{name}:{line}: {there} is private to its folder"
            elif here is not None and (layer_of(there) is None or LAYERS.index(layer_of(there)) > LAYERS.index(here)):
                yield f"{name}:{line}: {here} may not include {there}"


def executor_faults(files):
    if EXECUTOR not in files.files:
        yield f"{EXECUTOR} is not there, so nothing is known of what it includes"
        return
    own, _ = files.closure(EXECUTOR)
    for name in own:
        if layer_of(name) in NOT_FOR_THE_EXECUTOR:
            yield f"the executor reaches {files.chain(own, name)}"
    for there, here in files.third_party(EXECUTOR).items():
        yield f"the executor reaches <{there}> <- {files.chain(own, here)}"


def purity_faults(files):
    for name in files.headers():
        if layer_of(name) in PURE_FOLDERS or name in PURE_FILES:
            own, _ = files.closure(name)
            for there, here in files.third_party(name).items():
                if CUDA.match(name) and there.startswith("cuda"):
                    continue
                yield f"{name} may need no other project, but reaches <{there}> <- {files.chain(own, here)}"


def declaration_faults(files):
    for name in files.headers():
        for line, _, there in files.includes(name):
            if THIRD_PARTY.match(there) and not (CUDA.match(name) and there.startswith("cuda")):
                yield f"{name}:{line}: <{there}> belongs into the .ipp beside it"
        separate = SEPARATE.findall(files.files[name])
        for line, _, there in files.includes(name):
            if there.endswith(".ipp") and there not in separate and files.third_party(there):
                yield f"{name}:{line}: {there} needs {', '.join(files.third_party(there))}: include it under PENSTOCK_SEPARATE_COMPILATION"
        for found in FOREIGN.finditer(files.files[name]):
            yield f"{name}:{files.files[name].count(chr(10), 0, found.start()) + 1}: a declaration names {found.group(0)}"


def separate_faults(files):
    """Each body that can stand apart stands in one of the files of bodies; without HTTP, src.hpp needs none of its libraries."""
    reached = {there for name in BODIES if name in files.files for there in files.closure(name)[0]}
    for name in files.headers():
        for body in SEPARATE.findall(files.files[name]):
            if body not in reached:
                yield f"{name}: its body {body} is in neither of {' and '.join(BODIES)}"
    if BODIES[0] in files.files:
        for there, here in files.third_party(BODIES[0]).items():
            if not there.startswith("simdjson"):
                yield f"{BODIES[0]} reaches <{there}> <- {files.chain(files.closure(BODIES[0])[0], here)}"


def form_faults(files):
    for name, text in files.files.items():
        if text.count("\n") > MOST_LINES:
            yield f"{name}: {text.count(chr(10))} lines: more than one idea"
        if name.endswith(".hpp") and not re.search(r"^#pragma once$", text, re.M):
            yield f"{name}: no #pragma once"
        if name.endswith(".ipp") and "/detail/" not in name and name[:-3] + "hpp" not in files.files:
            yield f"{name}: no header of that name stands beside it"


def faults_in(root):
    files = tree(root)
    checks = (order_faults, executor_faults, purity_faults, declaration_faults, separate_faults, form_faults)
    return [fault for check in checks for fault in check(files)]


GOOD = {
    "core/bytes.hpp": "#include <cstddef>\n// #include <penstock/pipeline/executor.hpp>\n",
    "format/json.hpp": "#include <penstock/core/bytes.hpp>\n#ifndef PENSTOCK_SEPARATE_COMPILATION\n#  include <penstock/format/json.ipp>\n#endif\n",
    "format/json.ipp": "#include <simdjson.h>\n",
    "src.hpp": "#include <penstock/format/json.ipp>\n",
    "plan/plan.hpp": "#include <penstock/core/bytes.hpp>\n",
    "pipeline/executor.hpp": "#include <penstock/plan/plan.hpp>\n",
    "penstock.hpp": "#include <penstock/pipeline/executor.hpp>\n",
}
BAD = [
    ("core may not include penstock/plan", {"core/bytes.hpp": "#include <penstock/plan/plan.hpp>\n"}),
    ("core may not include penstock/penstock.hpp", {"core/bytes.hpp": "#  include <penstock/penstock.hpp>\n"}),
    ("is no layer", {"engine/x.hpp": ""}),
    ("is no file of include/", {"core/x.hpp": '#include "bytes.hpp"\n'}),
    ("is no file of include/", {"core/x.hpp": "#include <penstock/core/gone.hpp>\n"}),
    ("write <penstock/core/bytes.hpp>", {"core/x.hpp": '#include "penstock/core/bytes.hpp"\n'}),
    ("is private to its folder", {"core/detail/x.hpp": "", "plan/x.hpp": "#include <penstock/core/detail/x.hpp>\n"}),
    ("the executor reaches penstock/arch/map.hpp <- penstock/plan/plan.hpp", {
        "arch/map.hpp": "", "plan/plan.hpp": "#include <penstock/arch/map.hpp>\n"}),
    ("the executor reaches <simdjson.h>", {"plan/plan.hpp": "#include <penstock/format/json.hpp>\n"}),
    ("may need no other project", {"arch/map.hpp": "#include <penstock/format/json.hpp>\n"}),
    ("may need no other project", {"device/host.hpp": "#include <cuda_runtime_api.h>\n"}),
    ("may need no other project", {"device/cuda.hpp": "#include <curl/curl.h>\n"}),
    ("belongs into the .ipp", {"net/lane.hpp": "#include <curl/curl.h>\n"}),
    ("a declaration names CURL", {"net/lane.hpp": "struct lane {\n  CURL* handle;\n};\n"}),
    ("a declaration names simdjson::", {"format/json.hpp": "simdjson::dom::element f();\n"}),
    ("more than one idea", {"core/bytes.hpp": "\n" * (MOST_LINES + 1)}),
    ("its body penstock/format/json.ipp is in neither", {"src.hpp": ""}),
    ("needs simdjson.h: include it under", {"format/json.hpp": "#include <penstock/format/json.ipp>\n"}),
    ("penstock/src.hpp reaches <curl/curl.h>", {"format/json.ipp": "#include <curl/curl.h>\n"}),
    ("no header of that name", {"core/lost.ipp": ""}),
]  # fmt: skip


def lay(folder, files, pragma="#pragma once\n"):
    for name, text in files.items():
        path = Path(folder) / "penstock" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((pragma if name.endswith(".hpp") else "") + text, encoding="utf-8")


def faults_of(*layers, pragma="#pragma once\n"):
    with tempfile.TemporaryDirectory() as folder:
        for files in layers:
            lay(folder, files, pragma)
        return faults_in(folder)


def prove():
    """Stops unless every fault is caught and nothing else is."""
    said = faults_of(GOOD)
    if said:
        sys.exit("the good tree is said to be bad:\n" + "\n".join(said))
    for words, files in BAD:
        said = faults_of(GOOD, files)
        if not any(words in fault for fault in said):
            sys.exit(f"not caught: {words}\n{files}\n" + "\n".join(said))
    if not any("no #pragma once" in fault for fault in faults_of(GOOD, pragma="")):
        sys.exit("not caught: no #pragma once")
    if not any("is not there" in fault for fault in faults_of({"core/bytes.hpp": ""})):
        sys.exit("not caught: a tree without the executor")


def main():
    prove()
    faults = faults_in(sys.argv[1])
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
