"""Processes that fetch the same snapshot at once, and some that are killed while they do."""

import hashlib
import os
import random
import signal
import subprocess
import time

from support import DATA, program
from support.blob_stub import BlobStub
from support.program import PROGRAM, ProgramTest, executable

ROUNDS = int(os.environ.get("PENSTOCK_ROUNDS", "12"))
AT_ONCE = 4


def contents(folder):
    """{name: hash} of all files below a folder, and the modes of files and folders."""
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(files.items())}


class Races(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        self.model.mkdir()
        for file in (DATA / "tiny_llama_tied").iterdir():
            (self.model / file.name).write_bytes(file.read_bytes())
        for i in range(12):  # some of each size, so that a kill falls into one
            (self.model / f"extra_{i}.json").write_bytes(random.Random(i).randbytes(1 << (8 + i)))
        self.stub = BlobStub()
        self.addCleanup(self.stub.stop)
        self.stub.put_folder("m/", self.model)
        self.environment |= {
            "AZURE_STORAGE_ANON": "1",
            "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
            "AZURE_STORAGE_ENDPOINT": self.stub.endpoint,
        }
        self.fetched = self.folder / "alone"
        self.succeeds("fetch", "az://c/m", self.fetched, env=self.with_cache("of_one"))
        self.want = contents(self.fetched)
        self.assertIn("extra_11.json", self.want)

    def with_cache(self, name):
        return {"XDG_CACHE_HOME": str(self.folder / name)}

    def start(self, target, cache):
        command = [executable("PENSTOCK_PROGRAM", *PROGRAM), "fetch", "az://c/m", target]
        env = self.environment | self.with_cache(cache)
        return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(self, process):
        said, _ = process.communicate(timeout=120)
        return process.returncode, said.decode(errors="replace")

    def check_cache(self, name):
        """One snapshot, its lock, and nothing of those who were killed; for this user alone."""
        snapshots = self.folder / name / "penstock" / "snapshots"
        found = sorted(p.name for p in snapshots.iterdir())
        self.assertEqual(len(found), 2, found)
        self.assertEqual(found[1], found[0] + ".lock")
        self.assertEqual(contents(snapshots / found[0] / "files"), self.want)
        for path in snapshots.rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o777, 0o700 if path.is_dir() else 0o600, path)

    def test_all_at_once(self):
        asked = len(self.stub.requests("get", r"extra_0\.json$"))
        running = [self.start(self.folder / f"at_once_{i}", "at_once") for i in range(AT_ONCE)]
        for i, process in enumerate(running):
            status, said = self.end(process)
            self.assertEqual(status, 0, said)
            self.assertEqual(contents(self.folder / f"at_once_{i}"), self.want)
        self.assertEqual(len(self.stub.requests("get", r"extra_0\.json$")) - asked, 1, "one process fetches for all")
        self.check_cache("at_once")

    def test_killed_at_any_moment(self):
        """Whoever is killed, and wherever: the others end well, and the next one finds or makes the whole."""
        start = time.monotonic()
        self.succeeds("fetch", "az://c/m", self.folder / "timed", env=self.with_cache("timed"))
        takes = time.monotonic() - start
        dice = random.Random(1)
        killed = 0
        for n in range(ROUNDS):
            cache = f"killed_{n}"
            running = [self.start(self.folder / f"{n}_{i}", cache) for i in range(AT_ONCE)]
            victims = dice.sample(range(AT_ONCE), dice.randint(1, AT_ONCE))
            for i in victims:
                time.sleep(dice.uniform(0, takes) / len(victims))
                running[i].send_signal(signal.SIGKILL)
            for i, process in enumerate(running):
                status, said = self.end(process)
                if i in victims:
                    self.assertIn(status, (0, -signal.SIGKILL), said)
                    killed += status != 0
                else:
                    self.assertEqual(status, 0, said)
                    self.assertEqual(contents(self.folder / f"{n}_{i}"), self.want)
            again = self.folder / f"{n}_again"
            self.succeeds("fetch", "az://c/m", again, env=self.with_cache(cache))
            self.assertEqual(contents(again), self.want)
            self.check_cache(cache)
        self.assertGreater(killed, 0, "nobody was killed in time")


if __name__ == "__main__":
    program.main()
