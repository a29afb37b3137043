"""What tests of whole loads under faults share: a model of some twenty reads, its digests, and what every load must keep to."""

import atexit
import functools
import os
import pathlib
import random
import shutil
import tempfile

from .blob_stub import BlobStub
from .fault_proxy import GUESS
from .load_driver import LoadDriver
from .program import ProgramTest

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
SANITIZED = os.environ.get("PENSTOCK_SANITIZED") == "1"
# Time limits of the driver's stores: long enough for a busy machine, as a false alarm costs an attempt.
LIMITS = {"base": 1, "attempts": 4, "first_byte": 300, "stall": 300, "connect": 2000, "time": 20000}


@functools.cache
def model():
    """A checkpoint of two shards with an index, more than the first request for a header long."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-test-"))
    atexit.register(shutil.rmtree, folder)
    generators.write_folder(random.Random(17), folder, CONFIG, generators.llama_tensors(random.Random(17), CONFIG), shards=2)
    (folder / "tokenizer.json").write_text('{"model": {"vocab": {}}}' + " " * 3000)
    shards = [f for f in folder.iterdir() if f.suffix == ".safetensors"]
    assert len(shards) == 2 and all(f.stat().st_size > GUESS for f in shards) and list(folder.glob("*.index.json"))
    return folder


@functools.cache
def digests(tp, rank):
    return {p.name: p.line(rank)["sha256"] for p in parameters(Checkpoint(model()), "llama", tp, rank)}


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

    def ends_clean(self, *drivers):
        """After many loads no memory is lost, and the process ends well."""
        for driver in drivers:
            if len(driver.heap) >= 30 and not SANITIZED:
                self.assertLess(driver.growth(), 64 << 10, f"bytes more in use after {len(driver.heap)} loads")
            self.assertEqual(driver.stop(), 0)
