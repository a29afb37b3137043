"""Uses the project as somebody else would: builds and runs the small programs beside this file.

usage: check.py WAY SOURCE_DIR COMPILER

WAY is find_package (installed by CMake), add_subdirectory, pkg_config (installed by Meson) or subproject (of Meson's).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent
BARE_CMAKE = ["-DPENSTOCK_TESTS=OFF", "-DPENSTOCK_EXAMPLES=OFF"]
BARE_MESON = ["-Dtests=false", "-Dexamples=false"]


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def run_programs(folder):
    """Both programs, where the project offers both: a missing one is a fault."""
    run(folder / "consumer")
    run(folder / "consumer_http")


def install_with_cmake(source, folder, prefix):
    run("cmake", "-S", source, "-B", folder, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", *BARE_CMAKE)
    run("cmake", "--install", folder)


def install_with_meson(source, folder, prefix):
    run("meson", "setup", folder, source, f"--prefix={prefix}", "--libdir=lib", *BARE_MESON)
    run("meson", "install", "-C", folder)


def build_with_cmake(folder, *options):
    run("cmake", "-S", here, "-B", folder, *options)
    run("cmake", "--build", folder)
    run_programs(folder)


def pkg_config(prefix, *words):
    path = f"{prefix}/lib/pkgconfig:" + os.environ.get("PKG_CONFIG_PATH", "")
    return run("pkg-config", *words, env={**os.environ, "PKG_CONFIG_PATH": path}).split()


def headers_below(prefix):
    return sorted(path.relative_to(prefix).as_posix() for path in (prefix / "include").rglob("*") if path.is_file())


def find_package(source, folder):
    install_with_cmake(source, folder / "penstock", folder / "prefix")
    build_with_cmake(folder / "consumer", f"-DCMAKE_PREFIX_PATH={folder}/prefix", "-DPENSTOCK_PARTS=http")


def add_subdirectory(source, folder):
    build_with_cmake(folder / "consumer", f"-DPENSTOCK_SOURCE={source}")


def by_pkg_config(source, folder):
    """Also: what CMake installs is what Meson installs."""
    prefix, other = folder / "prefix", folder / "by_cmake"
    install_with_meson(source, folder / "penstock", prefix)
    install_with_cmake(source, folder / "again", other)
    if headers_below(prefix) != headers_below(other):
        sys.exit(f"Meson installs these headers:\n{headers_below(prefix)}\nand CMake these:\n{headers_below(other)}")
    for name, program in (("penstock", "main"), ("penstock-http", "http")):
        said = [sorted(pkg_config(p, "--cflags", "--libs", "--define-variable=prefix=/p", name)) for p in (prefix, other)]
        if said[0] != said[1]:
            sys.exit(f"{name}.pc says with Meson\n{said[0]}\nand with CMake\n{said[1]}")
        flags = pkg_config(prefix, "--cflags", "--libs", name)
        target = folder / {"main": "consumer", "http": "consumer_http"}[program]
        run(os.environ["CXX"], "-std=c++20", here / f"{program}.cpp", "-o", target, *flags)
    run_programs(folder)


def subproject(source, folder):
    project = folder / "project"
    (project / "subprojects").mkdir(parents=True)
    for name in ("meson.build", "main.cpp", "http.cpp"):
        (project / name).write_bytes((here / name).read_bytes())
    (project / "subprojects" / "penstock").symlink_to(source)
    run("meson", "setup", folder / "build", project)
    run("meson", "compile", "-C", folder / "build")
    run_programs(folder / "build")


def main():
    way, source, compiler = sys.argv[1:]
    os.environ["CXX"] = compiler
    ways = {"find_package": find_package, "add_subdirectory": add_subdirectory, "pkg_config": by_pkg_config, "subproject": subproject}
    with tempfile.TemporaryDirectory() as folder:
        ways[way](Path(source).resolve(), Path(folder))


if __name__ == "__main__":
    main()
