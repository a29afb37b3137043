"""python3 -m penstock_reference FOLDER --tp N --digest FILE: the digests that `penstock load --digest` must give."""

import argparse
import json
import pathlib
import sys

from .architectures import ARCHITECTURES, architecture_of, parameters
from .checkpoint import Checkpoint

options = argparse.ArgumentParser(prog="penstock_reference", description=__doc__)
options.add_argument("folder")
options.add_argument("--arch", choices=sorted(ARCHITECTURES), help="default: by config.json")
options.add_argument("--tp", type=int, default=1)
options.add_argument("--ep", type=int, default=1, help="blocks of experts")
options.add_argument("--pp", type=int, default=1, help="pipeline stages")
options.add_argument("--rank", default="all", help="a number, or all")
options.add_argument("--digest", help="the file to write; default: standard output, if nothing else is asked for")
options.add_argument("--digest-after", help="the same after the finishing steps")
options.add_argument("--dump", help="a folder for the bytes of each parameter, rank<R>/<name>")
given = options.parse_args()

checkpoint = Checkpoint(given.folder)
architecture = given.arch or architecture_of(checkpoint.config)
ranks = range(given.tp * given.pp) if given.rank == "all" else [int(given.rank)]


def write_digests(out, finished):
    for rank in ranks:
        for parameter in parameters(checkpoint, architecture, given.tp, rank, given.ep, finished, given.pp):
            print(json.dumps(parameter.line(rank), separators=(",", ":"), ensure_ascii=False), file=out)


for path, finished in ((given.digest, False), (given.digest_after, True)):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            write_digests(file, finished)
if given.dump:
    for rank in ranks:
        folder = pathlib.Path(given.dump) / f"rank{rank}"
        folder.mkdir(parents=True)
        for parameter in parameters(checkpoint, architecture, given.tp, rank, given.ep, pp=given.pp):
            (folder / parameter.name).write_bytes(parameter.data)
if not (given.digest or given.digest_after or given.dump):
    write_digests(sys.stdout, False)
