"""Uses the project as somebody else would: builds and runs the small programs beside this file.

usage: check.py WAY SOURCE_DIR COMPILER

WAY is find_package (installed by CMake), add_subdirectory, pkg_config (installed by Meson), subproject (of Meson's) or
without_http (installed by both without the part that needs libcurl, OpenSSL and pugixml). The first and the last also build an
engine of its own policies, which takes longer.
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


def run_programs(folder, *names):
    """A missing one is a fault."""
    for name in names:
        run(folder / name)


def install_with_cmake(source, folder, prefix, *options):
    bare = [f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", *BARE_CMAKE]
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, *bare, *options)
    run("cmake", "--install", folder)


def install_with_meson(source, folder, prefix, *options):
    run("meson", "setup", folder, source, f"--prefix={prefix}", "--libdir=lib", *BARE_MESON, *options)
    run("meson", "install", "-C", folder)


def build_with_cmake(folder, *options):
    run("cmake", "-G", "Ninja", "-S", here, "-B", folder, *options)
    run("cmake", "--build", folder)


def pkg_config(prefix, *words):
    path = f"{prefix}/lib/pkgconfig:" + os.environ.get("PKG_CONFIG_PATH", "")
    return run("pkg-config", *words, env={**os.environ, "PKG_CONFIG_PATH": path}).split()


def headers_below(prefix):
    return sorted(path.relative_to(prefix).as_posix() for path in (prefix / "include").rglob("*") if path.is_file())


def same_headers(one, other):
    if headers_below(one) != headers_below(other):
        sys.exit(f"Meson installs these headers:\n{headers_below(one)}\nand CMake these:\n{headers_below(other)}")


def find_package(source, folder):
    install_with_cmake(source, folder / "penstock", folder / "prefix")
    build_with_cmake(folder / "consumer", f"-DCMAKE_PREFIX_PATH={folder}/prefix", "-DPENSTOCK_PARTS=http", "-DCONSUMER_ENGINE=ON")
    run_programs(folder / "consumer", "consumer", "consumer_engine", "consumer_http")


def without_http(source, folder):
    """The part that is not there is asked for in vain, and the rest needs nothing of it."""
    prefix, other = folder / "prefix", folder / "by_meson"
    install_with_cmake(source, folder / "penstock", prefix, "-DPENSTOCK_HTTP=OFF")
    install_with_meson(source, folder / "again", other, "-Dhttp=disabled")
    same_headers(other, prefix)
    if (prefix / "include" / "penstock" / "net").exists() or not (prefix / "include" / "penstock" / "core").exists():
        sys.exit(f"installed without HTTP:\n{headers_below(prefix)}")
    build_with_cmake(folder / "consumer", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCONSUMER_ENGINE=ON")
    run_programs(folder / "consumer", "consumer", "consumer_engine")
    if (folder / "consumer" / "consumer_http").exists():
        sys.exit("penstock::http is offered, though it was not installed")
    words = ["cmake", "-G", "Ninja", "-S", here, "-B", folder / "in_vain", f"-DCMAKE_PREFIX_PATH={prefix}", "-DPENSTOCK_PARTS=http"]
    asked = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if asked.returncode == 0 or "the part 'http' is not there" not in asked.stdout:
        sys.exit(f"the part that is not there was found, or its absence not said\n{asked.stdout}")


def add_subdirectory(source, folder):
    build_with_cmake(folder / "consumer", f"-DPENSTOCK_SOURCE={source}")
    run_programs(folder / "consumer", "consumer", "consumer_http")


def by_pkg_config(source, folder):
    """Also: what CMake installs is what Meson installs."""
    prefix, other = folder / "prefix", folder / "by_cmake"
    install_with_meson(source, folder / "penstock", prefix)
    install_with_cmake(source, folder / "again", other)
    same_headers(prefix, other)
    for name, program in (("penstock", "main"), ("penstock-http", "http")):
        said = [sorted(pkg_config(p, "--cflags", "--libs", "--define-variable=prefix=/p", name)) for p in (prefix, other)]
        if said[0] != said[1]:
            sys.exit(f"{name}.pc says with Meson\n{said[0]}\nand with CMake\n{said[1]}")
        flags = pkg_config(prefix, "--cflags", "--libs", name)
        target = folder / {"main": "consumer", "http": "consumer_http"}[program]
        run(os.environ["CXX"], "-std=c++20", here / f"{program}.cpp", "-o", target, *flags)
    run_programs(folder, "consumer", "consumer_http")


def subproject(source, folder):
    project = folder / "project"
    (project / "subprojects").mkdir(parents=True)
    for name in ("meson.build", "main.cpp", "http.cpp"):
        (project / name).write_bytes((here / name).read_bytes())
    (project / "subprojects" / "penstock").symlink_to(source)
    run("meson", "setup", folder / "build", project)
    run("meson", "compile", "-C", folder / "build")
    run_programs(folder / "build", "consumer", "consumer_http")


def main():
    way, source, compiler = sys.argv[1:]
    os.environ["CXX"] = compiler
    ways = {
        "find_package": find_package,
        "add_subdirectory": add_subdirectory,
        "pkg_config": by_pkg_config,
        "subproject": subproject,
        "without_http": without_http,
    }
    with tempfile.TemporaryDirectory() as folder:
        ways[way](Path(source).resolve(), Path(folder))


if __name__ == "__main__":
    main()
