"""The code that the README shows is the code that is built.

usage: check.py README.md
A block of C++ in the README stands below a comment that names its file: <!-- path -->
"""
import pathlib
import re
import sys

readme = pathlib.Path(sys.argv[1])
blocks = re.findall(r"<!-- (\S+) -->\n```cpp\n(.*?)```", readme.read_text(), re.S)
shown = re.findall(r"```cpp\n", readme.read_text())
if not blocks or len(blocks) != len(shown):
    sys.exit(f"{readme}: expected each block of C++ to name its file, found {len(blocks)} of {len(shown)}")
for path, code in blocks:
    if (readme.parent / path).read_text() != code:
        sys.exit(f"{readme}: the code shown for {path} is not what stands in that file")
for path in re.findall(r"\]\(([^)#:]+)\)", readme.read_text()):
    if not (readme.parent / path).exists():
        sys.exit(f"{readme}: links to {path}, which does not exist")
