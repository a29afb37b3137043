"""Compares the tests that CMake and Meson know, by name.

usage: check.py SOURCE_DIR COMPILER
"""

import os
import re
import subprocess
import sys
import tempfile


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def known_to_cmake(source, folder):
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DPENSTOCK_HTTP=ON", "-DPENSTOCK_FUZZ=ON")
    return re.findall(r"^ *Test +#\d+: (.+)$", run("ctest", "--test-dir", folder, "-N"), re.M)


def known_to_meson(source, folder):
    run("meson", "setup", folder, source, "-Dhttp=enabled", "-Dfuzz=true")
    lines = run("meson", "test", "-C", folder, "--no-rebuild", "--list").splitlines()
    return [line.split(" / ", 1)[1] for line in lines if line.startswith("penstock:")]


def main():
    source, os.environ["CXX"] = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        cmake, meson = known_to_cmake(source, f"{folder}/cmake"), known_to_meson(source, f"{folder}/meson")
    faults = [f"only CMake knows {name}" for name in sorted(set(cmake) - set(meson))]
    faults += [f"only Meson knows {name}" for name in sorted(set(meson) - set(cmake))]
    faults += [f"{name} is there twice" for names in (cmake, meson) for name in sorted(set(names)) if names.count(name) > 1]
    if len(cmake) < 10:
        faults.append(f"ctest -N gives {len(cmake)} tests: that cannot be all")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
