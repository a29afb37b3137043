"""A disk that fails, files that change while they are read, a full cache: the bytes that were there first, or an error.

PENSTOCK_FAULT_ROUNDS=N takes N seeds for each case instead of one, PENSTOCK_FAULT_SEED=N begins with another.
"""

import errno
import itertools
import os
import shutil
import sys
import threading
import time
import unittest

from support import program
from support.fault_case import LIMITS, ROUNDS, SEED, FaultTest, model
from support.http_faults import source
from support.load_driver import LoadDriver
from support.program import SANITIZED, executable

# What may be done before a read, and how the load may end. A file that was replaced or removed stays what it was for
# who had opened it; one that was changed in place is another.
DISK = {
    str(errno.EIO): {"io"},
    str(errno.ESTALE): {"io"},
    str(errno.EACCES): {"access"},
    str(errno.ENOMEM): {"memory"},
    str(errno.EINTR): {"right"},
    "short": {"right"},
    "replace": {"right"},
    "remove": {"right"},
    "truncate": {"right", "changed"},
    "grow": {"right", "changed"},
    "rewrite": {"right", "changed"},
}
LIMITED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
what, most = getattr(resource, sys.argv[1]), int(sys.argv[2])
resource.setrlimit(what, (most, most))
os.execv(sys.argv[3], sys.argv[3:])
"""


class DiskFaults(FaultTest):
    def copy(self):
        """The model in a folder of its own, last written long ago."""
        folder = self.new_path("")
        shutil.copytree(model(), folder)
        for file in folder.iterdir():
            os.utime(file, (1e9, 1e9))
        return folder

    def shards(self, folder):
        return sorted(folder.glob("*.safetensors"))

    def test_every_fault_before_every_read(self):
        driver, ends = self.driver(), set()
        for n, what in itertools.product(range(SEED, SEED + ROUNDS), DISK):
            seed = source(f"{n} {what}")
            how = self.how(seed) | {"lanes": seed.choice([1, 1, 4])}
            reads = driver.load(**how, uri=model())["reads"]
            # The first read is the index's; then the shards are pinned.
            for at in range(1 if {"right"} < DISK[what] or what in ("replace", "remove") else 0, reads):
                folder = self.copy()
                victim = seed.choice(self.shards(folder))
                told = driver.load(**how, uri=folder, read_at=at, read_do=what, victim=victim)
                end = self.verdict(told, how)
                self.assertIn(end, DISK[what], (what, at, told))
                if at == 1 and "changed" in DISK[what]:
                    self.assertEqual(end, "changed", "nothing of it had been read")
                if end != "right":
                    self.assertIn(str(folder), told["message"])
                ends.add((what, end))
                shutil.rmtree(folder)
        self.assertEqual(ends, {(what, end) for what, may in DISK.items() for end in may}, "each way to end was seen")
        self.ends_clean(driver)

    def test_changes_at_random_moments(self):
        """By somebody else, while lanes read: also before anything was opened."""
        driver = self.driver()

        def truncate(file):
            os.truncate(file, file.stat().st_size // 2)

        def grow(file):
            os.truncate(file, file.stat().st_size + 100)

        def rewrite(file):
            size = file.stat().st_size
            with open(file, "r+b", buffering=0) as f:
                f.write(b"x" * size)

        def replace(file):
            new = file.with_suffix(".new")
            new.write_bytes(b"x" * file.stat().st_size)
            new.rename(file)

        def remove(file):
            file.unlink()

        for n in range(SEED * 1000, SEED * 1000 + 60 * ROUNDS):
            seed = source(n)
            how, folder, moment = self.how(seed), self.copy(), seed.random()
            do, victim = seed.choice([truncate, grow, rewrite, replace, remove]), seed.choice(self.shards(folder))

            def change():
                time.sleep(0.03 * moment)
                do(victim)

            other = threading.Thread(target=change)
            other.start()
            told = driver.load(**how, uri=folder, read_us=1000)
            other.join()
            # Before it was pinned it is a wrong file from the beginning, or none.
            self.assertIn(self.verdict(told, how), ("right", "changed", "format", "not_found"), told)
            shutil.rmtree(folder)
        self.ends_clean(driver)

    def limited(self, what, most):
        """A command that runs another under a limit of the system."""
        return [sys.executable, "-c", LIMITED, what, most]

    def test_a_cache_on_a_full_disk(self):
        stub = self.stub()
        cache = self.folder / "full"
        env = self.environment | {
            "AZURE_STORAGE_ANON": "1",
            "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
            "AZURE_STORAGE_ENDPOINT": stub.endpoint,
            "PENSTOCK_CACHE": str(cache),
        }
        command = [executable("PENSTOCK_PROGRAM", *program.PROGRAM), "load", "az://c/m"]
        made = program.run([*self.limited("RLIMIT_FSIZE", 2500), *command], env=env)
        self.assertEqual(made.status, program.STATUS["io"], made)
        for words in ("penstock: error: io: ", "tokenizer.json", "PENSTOCK_CACHE", str(cache)):
            self.assertIn(words, made.err)
        left = [file for file in cache.rglob("*") if file.is_file() and file.suffix != ".lock"]
        self.assertEqual(left, [], "it left something behind")
        made = program.run(command, env=env)
        self.assertEqual(made.status, 0, made)

    @unittest.skipIf(SANITIZED, "a sanitizer looks at memory by way of descriptors")
    def test_no_descriptor_is_left(self):
        stub = self.stub()
        for uri in ("az://c/m", str(model())):
            ends = []
            for most in range(4, 24):
                usual = {"endpoint": stub.endpoint, "cache": self.folder / "cache", "uri": uri} | LIMITS
                driver = LoadDriver(self.environment, self.limited("RLIMIT_NOFILE", most), **usual)
                self.addCleanup(driver.close)
                how = self.how(source(most))
                told = driver.load(**how)
                end = self.verdict(told, how)
                self.assertIn(end, ("right", "io"), told)
                if end == "io":
                    self.assertIn("Too many open files", told["message"])
                    self.assertIn("ulimit -n", told["message"])
                ends.append(end)
                self.assertEqual(driver.stop(), 0)
            self.assertEqual(set(ends), {"right", "io"}, ends)


if __name__ == "__main__":
    program.main()
