"""A blob store that never gives a good answer: retries are used up in bounded time. Minutes, nearly all of them waiting."""

import concurrent.futures

from support import program
from support.blob_stub import BlobStub, Fault, close, cut, say_nothing, status
from support.http_case import SHARD, HttpTest, data_read

# The most that a load may take: it may try for 180 s.
PATIENCE = 240


class Forever(HttpTest):
    def test_stores_that_never_answer_well(self):
        always = {
            "500 to reads": [Fault(status(500, "InternalError"), "get", SHARD, where=data_read)],
            "500 to everything": [Fault(status(500, "InternalError"), "any")],
            "503 to lists": [Fault(status(503, "ServerBusy"), "list")],
            "closes": [Fault(close(), "any")],
            "closes on reads": [Fault(close(), "get", SHARD, where=data_read)],
            "silence": [Fault(say_nothing, "any")],
            "silence on reads": [Fault(say_nothing, "get", SHARD, where=data_read)],
            "resets before a byte": [Fault(cut(0, True), "get", SHARD, where=data_read)],
        }
        words = {
            "500 to reads": ["500", "model-00003-of-00005.safetensors"],
            "500 to everything": ["500"],
            "503 to lists": ["503"],
            "closes on reads": ["model-00003-of-00005.safetensors"],
            "silence on reads": ["model-00003-of-00005.safetensors"],
            "resets before a byte": ["model-00003-of-00005.safetensors"],
        }
        work = {}
        with concurrent.futures.ThreadPoolExecutor(len(always) + 1) as pool:
            for what, faults in always.items():
                stub = self.stub()
                stub.faults = faults
                work[what] = pool.submit(self.fails_on, stub, "transient", words.get(what, []), timeout=PATIENCE)
            nobody = BlobStub()
            env = self.env(nobody)
            nobody.stop()
            work["nobody listens"] = pool.submit(self.fails_on, nobody, "transient", [], env=env, timeout=PATIENCE)
        for what, done in work.items():
            with self.subTest(what):
                done.result()


if __name__ == "__main__":
    program.main()
