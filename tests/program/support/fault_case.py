"""What tests of whole loads under faults share: a model of some twenty reads, and what every load must keep to."""

import atexit
import concurrent.futures
import functools
import os
import pathlib
import queue
import random
import shutil
import tempfile
import threading

from .blob_stub import BlobStub
from .fault_proxy import GUESS, FaultProxy
from .load_driver import LoadDriver
from .program import SANITIZED, ProgramTest

from penstock_reference import generators
from penstock_reference.architectures import parameters
from penstock_reference.checkpoint import Checkpoint

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "intermediate_size": 160,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 600,
}
ROUNDS = int(os.environ.get("PENSTOCK_FAULT_ROUNDS") or 1)  # the long form: as many seeds for each case
SEED = int(os.environ.get("PENSTOCK_FAULT_SEED") or 1)  # the first of them
WORKERS = 4
# Time limits of the driver's stores: long enough for a busy machine, as a false alarm costs an attempt.
LIMITS = {"base": 1, "attempts": 4, "first_byte": 300, "stall": 300, "connect": 2000, "time": 20000}


@functools.cache
def model():
    """A checkpoint of two shards with an index, more than the first request for a header long."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-test-"))
    atexit.register(shutil.rmtree, folder)
    tensors = generators.llama_tensors(random.Random(17), CONFIG)
    generators.write_folder(random.Random(17), folder, CONFIG, tensors, shards=2)
    (folder / "tokenizer.json").write_text('{"model": {"vocab": {}}}' + " " * 3000)
    shards = [f for f in folder.iterdir() if f.suffix == ".safetensors"]
    assert len(shards) == 2 and all(f.stat().st_size > GUESS for f in shards) and list(folder.glob("*.index.json"))
    return folder


@functools.cache
def digests(tp, rank):
    return {p.name: p.line(rank)["sha256"] for p in parameters(Checkpoint(model()), "llama", tp, rank)}


class Worker:
    """A driver, and its own way to the store."""

    def __init__(self, test, number, store, tls=None, **usual):
        self.test, self.proxy = test, FaultProxy(store, tls)
        test.addCleanup(self.proxy.stop)
        self.cache = test.folder / f"cache{number}"
        origin = f"{'https' if tls else 'http'}://127.0.0.1:{self.proxy.port}"
        usual |= {"endpoint": f"{origin}/{usual.get('account', 'devaccount')}"}
        self.driver = test.driver(cache=self.cache, **usual)
        self.bodies = {}

    def load(self, how, *rules, cold=False, **options):
        if cold:
            shutil.rmtree(self.cache, ignore_errors=True)
        self.proxy.begin(*rules)
        return self.driver.load(**how, **options)

    def bodies_of(self, how):
        """How many reads of tensor bytes this load has."""
        key = how["tp"], how["rank"], how["slot"]
        if key not in self.bodies:
            for _ in range(10):  # a busy machine may take too long for an answer, and ask again
                told = self.load(how, first_byte=20000, stall=20000)
                self.test.assertEqual(self.test.verdict(told, how), "right", told)
                if not told["retries"]:
                    break
            self.bodies[key] = self.proxy.count("body")
            self.test.assertEqual(self.proxy.count("header"), 2)
        return self.bodies[key]


class FaultTest(ProgramTest):
    """Each load: the right bytes or a typed error, in time; nothing left behind."""

    def stub(self):
        stub = BlobStub()
        self.addCleanup(stub.stop)
        stub.put_folder("m/", model())
        return stub

    def driver(self, **usual):
        driver = LoadDriver(self.environment, **({"uri": "az://c/m", "cache": self.folder / "cache"} | LIMITS | usual))
        self.addCleanup(driver.close)
        return driver

    def how(self, seed):
        """One of the many ways to load it."""
        tp, rank = seed.choice([(1, 0), (2, 0), (2, 1)])
        return {
            "tp": tp,
            "rank": rank,
            "slot": seed.choice([16384, 16384, 40000]),
            "ownership": seed.choice(["place", "own", "borrow"]),
            "lanes": seed.choice([1, 2, 3]),
            "depth": seed.choice([1, 2, 4]),
            "direct": seed.choice([1024, 1 << 40]),
        }

    def verdict(self, told, how):
        """"right", the kind of the error, or "thrown", after what holds for every load was checked."""
        want = digests(how["tp"], how["rank"])
        got = told.pop("digests")
        self.assertEqual({n: d for n, d in got.items() if want.get(n) != d}, {}, f"announced and wrong\n{told}")
        self.assertEqual((told["threads"], told["descriptors"]), (0, 0), f"left behind\n{told}")
        self.assertTrue(told["quiet"], f"a callback or a write after the return\n{told}")
        if how.get("serial", 1):
            self.assertFalse(told["overlapped"], f"two callbacks at once\n{told}")
        if "thrown" in told:
            return "thrown"
        if "error" in told:
            self.assertGreater(len(told["message"]), 20, told)
            return told["error"]
        self.assertEqual(got, want, told)
        return "right"

    def at_once(self, cases, run, store, **usual):
        """`run(worker, case)` for all cases by a few workers. Every failure is told."""
        workers = [Worker(self, n, store, **usual) for n in range(WORKERS)]
        free, failures, lock = queue.Queue(), [], threading.Lock()
        for w in workers:
            free.put(w)

        def one(case):
            worker = free.get()
            try:
                run(worker, case)
            except Exception as e:
                with lock:
                    failures.append(f"{case}: {type(e).__name__}: {e}")
            finally:
                free.put(worker)

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(one, cases))
        if failures:
            self.fail(f"{len(failures)} of {len(cases)} cases\n" + "\n".join(failures[:20]))
        self.ends_clean(*(w.driver for w in workers))

    def ends_clean(self, *drivers):
        """After many loads no memory is lost, and the process ends well."""
        for driver in drivers:
            if len(driver.heap) >= 30 and not SANITIZED:
                self.assertLess(driver.growth(), 64 << 10, f"bytes more in use after {len(driver.heap)} loads")
            self.assertEqual(driver.stop(), 0)
