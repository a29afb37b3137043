"""Running `penstock`, and what every test expects of every run."""

import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import dataclass

from . import leaks

# Exit status of each kind of error.
STATUS = {
    "usage": 2,
    "format": 10,
    "config": 11,
    "plan": 12,
    "not_found": 13,
    "access": 14,
    "transient": 15,
    "changed": 16,
    "memory": 17,
    "io": 18,
    "peer": 19,
    "cancelled": 20,
}
MIB = 1 << 20
SANITIZED = os.environ.get("PENSTOCK_SANITIZED") == "1"  # its memory, and what it imports, are not the program's own
PROGRAM = ("penstock", "examples/penstock", "examples/penstock/penstock")  # where it may be in a build folder
build_folder = None


@dataclass
class Run:
    command: list
    status: int
    out: str
    err: str
    seconds: float
    peak_bytes: int  # largest resident memory
    told: bytes = b""  # both outputs, as they are

    def __str__(self):
        return (
            f"$ {shlex.join(map(str, self.command))}\nexit status {self.status} after {self.seconds:.1f} s\n"
            f"--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"
        )


def clean_environment(home):
    """Nothing of the caller's accounts, proxies or caches."""
    kept = (
        "PATH",
        "LD_LIBRARY_PATH",
        "TMPDIR",
        "ASAN_OPTIONS",
        "UBSAN_OPTIONS",
        "LSAN_OPTIONS",
        "TSAN_OPTIONS",
        "LLVM_PROFILE_FILE",
    )
    mine = {name: os.environ[name] for name in kept if name in os.environ}
    return mine | {"HOME": str(home), "XDG_CACHE_HOME": str(pathlib.Path(home) / "cache"), "LC_ALL": "C.UTF-8"}


def run(command, *, env, cwd=None, timeout=120):
    """Runs a command to its end. One that does not end is killed, and its status is the signal's."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen(
            [str(c) for c in command],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        killer = threading.Timer(timeout, process.kill)
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)  # of this child alone; RUSAGE_CHILDREN is the largest of all
        finally:
            killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    plain = [text.decode("utf-8", "replace") for text in texts]
    return Run(list(command), process.returncode, *plain, seconds, usage.ru_maxrss * 1024, b"\n".join(texts))


def executable(variable, *guesses):
    """The path of a program that must be there: from the environment, or in the build folder."""
    given = os.environ.get(variable)
    candidates = (
        [pathlib.Path(given)] if given else [pathlib.Path(build_folder) / g for g in guesses] if build_folder else []
    )
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    raise unittest.TestCase.failureException(
        f"no program: set {variable} to its path (looked at: {[str(c) for c in candidates]})"
    )


def read_digests(path):
    """{(rank, name): line}. Two lines for one parameter, or a field too many, are an error."""
    lines = {}
    for text in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if set(line) != {"rank", "name", "dtype", "shape", "sha256"}:
            raise AssertionError(f"{path}: a digest line with the fields {sorted(line)}")
        key = line["rank"], line["name"]
        if key in lines:
            raise AssertionError(f"{path}: two lines for {key}")
        lines[key] = line
    return lines


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own, which runs the program in a clean environment."""

    secrets = ()  # texts that must be in no output, beside those that a run is given as credentials
    maxDiff = 4000

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = clean_environment(self.folder / "home")
        (self.folder / "home").mkdir()
        self.counter, self.lock = 0, threading.Lock()

    def new_path(self, suffix):
        with self.lock:
            self.counter += 1
            return self.folder / f"{self.counter}{suffix}"

    def run_program(self, *command, env=(), cwd=None, timeout=120):
        """Runs one of our programs. Whatever the test is about: no crash, no time-out, no secret told, no open cache."""
        environment = self.environment | dict(env)
        start = time.time_ns() - 20_000_000  # a file's clock is coarser
        made = run(command, env=environment, cwd=cwd, timeout=timeout)
        self.assertNotEqual(made.status, -signal.SIGKILL, f"it did not end within {timeout} s\n{made}")
        self.assertGreaterEqual(made.status, 0, f"it was ended by a signal\n{made}")
        self.assert_no_leak(environment, command, [("its output", made.told), *leaks.files_since(self.folder, start)], made)
        self.assertEqual(leaks.open_to_others(pathlib.Path(environment["XDG_CACHE_HOME"]) / "penstock"), [], made)
        return made

    def assert_no_leak(self, environment, command, texts, made):
        secrets = [*leaks.secrets_of(environment, command), *self.secrets]
        self.assertEqual(leaks.find(secrets, texts), [], f"a secret was told by\n{made}")

    def penstock(self, *arguments, **options):
        return self.run_program(executable("PENSTOCK_PROGRAM", *PROGRAM), *arguments, **options)

    def succeeds(self, *arguments, **options):
        made = self.penstock(*arguments, **options)
        self.assertEqual(made.status, 0, made)
        return made

    def load(self, uri, *arguments, **options):
        """A load that must succeed: its run, its digests and its report."""
        digest, report = self.new_path(".digest"), self.new_path(".json")
        made = self.succeeds("load", uri, "--digest", digest, "--json", report, *arguments, **options)
        return made, read_digests(digest), json.loads(report.read_text())

    def fails(self, kinds, words, *arguments, **options):
        """A run that must fail with one of `kinds` and all `words`, and leave nothing that looks whole."""
        kinds = [kinds] if isinstance(kinds, str) else kinds
        digest = None
        if arguments[0] == "load" and "--digest" not in arguments:
            digest = self.new_path(".digest")
            arguments = [*arguments, "--digest", digest]
        made = self.penstock(*arguments, **options)
        told = [line for line in made.err.splitlines() if line.startswith("penstock: error: ")]
        self.assertEqual(len(told), 1, f"one error line is wanted\n{made}")
        kind = told[0].removeprefix("penstock: error: ").split(":")[0]
        self.assertIn(kind, kinds, made)
        self.assertEqual(made.status, STATUS[kind], made)
        message = made.err[made.err.index("penstock: error: ") :]
        plain = re.sub(r"(?<=\d),(?=\d{3})", "", message.lower())  # 4,000,000 is 4000000
        for word in words:
            self.assertIn(word.lower(), plain, made)
        self.assertGreater(
            len(message), len("penstock: error: : ") + len(kind) + 20, f"a message that says nothing\n{made}"
        )
        if digest:
            self.assertFalse(digest.exists(), f"a failed load left digests behind\n{made}")
        return made


def main():
    """Runs the calling file's tests: test_x.py --build DIR [unittest's own arguments]."""
    global build_folder
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--build")
    given, rest = options.parse_known_args()
    build_folder = given.build
    unittest.main(module="__main__", argv=[sys.argv[0], *rest], verbosity=2)
