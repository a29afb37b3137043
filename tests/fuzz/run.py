"""Runs one fuzz target over its seeds and what it makes of them, for a short time and from a fixed number.

usage: run.py PROGRAM

The target is named by its program, fuzz_NAME. An input that is a finding is printed in base64 by the target. For a longer
run by hand, start the program itself: fuzz_NAME -dict=tests/fuzz/NAME.dict FOLDER tests/fuzz/seeds/NAME
"""

import os
import re
import subprocess
import sys
import tempfile


def main():
    program = sys.argv[1]
    name = os.path.basename(program).removeprefix("fuzz_")
    here = os.path.dirname(os.path.abspath(__file__))
    seeds = os.path.join(here, "seeds", name)
    with tempfile.TemporaryDirectory() as folder:  # what is found stays out of the seeds
        command = [program, "-seed=1", "-runs=20000", "-max_total_time=8", "-rss_limit_mb=1024", "-timeout=10",
                   "-max_len=16384", f"-dict={here}/{name}.dict", f"-artifact_prefix={folder}/", folder, seeds]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    text = done.stdout.decode(errors="replace")
    ran = re.search(r"^Done (\d+) runs", text, re.M)
    if done.returncode != 0 or not ran:
        sys.exit(f"{text[-6000:]}\nfuzz_{name}: a finding, or no run (exit status {done.returncode})")
    if int(ran[1]) <= len(os.listdir(seeds)):
        sys.exit(f"fuzz_{name}: expected more runs than seeds, found {ran[1]}")
    print(f"fuzz_{name}: {ran[1]} runs")


if __name__ == "__main__":
    main()
