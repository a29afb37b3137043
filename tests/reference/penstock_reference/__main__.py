"""python3 -m penstock_reference FOLDER --tp N --digest FILE: the digests that `penstock load --digest` must give."""

import argparse
import json
import sys

from .architectures import ARCHITECTURES, parameters
from .checkpoint import Checkpoint

options = argparse.ArgumentParser(prog="penstock_reference", description=__doc__)
options.add_argument("folder")
options.add_argument("--arch", choices=sorted(ARCHITECTURES), default="llama")
options.add_argument("--tp", type=int, default=1)
options.add_argument("--rank", default="all", help="a number, or all")
options.add_argument("--digest", help="the file to write; default: standard output")
given = options.parse_args()

ranks = range(given.tp) if given.rank == "all" else [int(given.rank)]
checkpoint = Checkpoint(given.folder)
out = open(given.digest, "w", encoding="utf-8") if given.digest else sys.stdout
for rank in ranks:
    for parameter in parameters(checkpoint, given.arch, given.tp, rank):
        print(json.dumps(parameter.line(rank), separators=(",", ":"), ensure_ascii=False), file=out)
