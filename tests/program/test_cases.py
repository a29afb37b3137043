"""Faults that were reported of other loaders (case numbers of the project's list), where no other test has them whole."""

import hashlib
import json
import os
import signal
import subprocess
import time

from support import DATA, program
from support.blob_stub import Fault, say_nothing, status
from support.http_case import MODEL, SHARD, HttpTest
from support.program import MIB, PROGRAM, SANITIZED, executable

from penstock_reference.safetensors import file_bytes, write_file


class Cases(HttpTest):
    def one_file(self, header, data):
        folder = self.new_path("model")
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(file_bytes(header, data))
        return folder

    def everywhere(self, folder):
        """The digests by name, from a folder and from a store, with both ways through memory."""
        stub = self.stub(folder)
        found = []
        for uri, env in ((folder, {}), ("az://c/m", self.env(stub))):
            for ownership in ("place", "borrow", "own"):
                _, digests, _ = self.load(uri, "--arch", "as_stored", "--ownership", ownership, env=env)
                found.append({name: (line["dtype"], line["shape"], line["sha256"]) for (_, name), line in digests.items()})
        self.assertTrue(all(f == found[0] for f in found))
        return found[0]

    def test_h03_small_elements_are_the_same_from_everywhere(self):
        data = bytes(range(14))
        header = (
            '{"s":{"dtype":"F8_E8M0","shape":[2,3],"data_offsets":[0,6]},"q":{"dtype":"F4","shape":[2,8],"data_offsets":[6,14]}}'
        )
        got = self.everywhere(self.one_file(header, data))
        self.assertEqual(got["s"], ("F8_E8M0", [2, 3], hashlib.sha256(data[:6]).hexdigest()))
        self.assertEqual(got["q"], ("F4", [2, 8], hashlib.sha256(data[6:]).hexdigest()))

    def test_h04_data_begin_behind_the_header_whatever_its_length(self):
        data = bytes.fromhex("0000803F00000040")
        header = '{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
        self.assertEqual(len(header), 54)
        for spaces in range(9):
            got = self.everywhere(self.one_file(header + " " * spaces, data))
            self.assertEqual(got["t"], ("F32", [2], hashlib.sha256(data).hexdigest()))

    def test_h12_a_tied_head_that_only_the_text_config_tells_of(self):
        folder = self.new_path("nested")
        folder.mkdir()
        config = json.loads((DATA / "tiny_llama_tied" / "config.json").read_text())
        tied = {"tie_word_embeddings": config.pop("tie_word_embeddings")}
        self.assertEqual(tied, {"tie_word_embeddings": True})
        for file in (DATA / "tiny_llama_tied").glob("model*"):
            (folder / file.name).symlink_to(file)
        (folder / "config.json").write_text(json.dumps(config | {"text_config": tied}))
        _, digests, report = self.load(folder, "--tp", "3")
        self.assertEqual(digests, program.read_digests(DATA / "tiny_llama_tied.tp3.digest"))
        (folder / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": False}))
        self.fails("plan", ["lm_head.weight"], "load", folder)

    def test_h35_credentials_that_expire_during_the_load(self):
        """Fixed ones: the load ends at once, and says so."""
        for code, name in ((400, "ExpiredToken"), (403, "AuthenticationFailed"), (401, "ExpiredAuthenticationToken")):
            with self.subTest(name):
                stub = self.stub()
                fault = Fault(status(code, name), "get", "safetensors$", where=lambda r: (r.first or 0) > 100, skip=2)
                stub.faults = [fault]
                words = [str(code), name] + (["expired", "renew"] if "Expired" in name else [])
                self.fails("access", words, "load", "az://c/m", env=self.env(stub))
                refused = [(r.path, r.first) for r in stub.requests("get") if r.status == code]
                self.assertEqual(len(set(refused)), len(refused), "what was under way, and nothing again")

    def test_h39_a_limit_larger_than_the_model_and_one_smaller_than_a_tensor(self):
        folder = self.new_path("many")
        folder.mkdir()
        write_file(folder / "model.safetensors", [(f"t{n:02}", "U8", (1_000_000,), os.urandom(1_000_000)) for n in range(25)])
        made, want, report = self.load(folder, "--arch", "as_stored", "--ownership", "borrow", "--memory-limit", "2000000000")
        self.assertLess(report["peak_host_bytes"], 25_000_000 + 32 * MIB)
        if not SANITIZED:
            self.assertLess(made.peak_bytes, 2 * 25_000_000 + 64 * MIB)
        made, got, report = self.load(folder, "--arch", "as_stored", "--ownership", "borrow", "--memory-limit", "512KiB")
        self.assertEqual(got, want)
        self.assertLessEqual(report["peak_host_bytes"], 512 << 10)

    def test_h43_a_load_that_is_stopped(self):
        """Soon, with nothing left of it and no request after it."""
        for number in (signal.SIGINT, signal.SIGTERM):
            stub = self.stub(MODEL)
            stub.faults = [Fault(say_nothing, "get", SHARD, where=lambda r: (r.first or 0) > 100)]
            digest = self.new_path(".digest")
            command = [executable("PENSTOCK_PROGRAM", *PROGRAM), "load", "az://c/m", "--digest", digest, "--progress"]
            process = subprocess.Popen(command, env=self.environment | self.env(stub), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            end = time.monotonic() + 30
            while not [r for r in stub.requests("get", SHARD) if (r.first or 0) > 100]:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            process.send_signal(number)
            _, told = process.communicate(timeout=10)
            asked = len(stub.requests())
            self.assertEqual(process.returncode, program.STATUS["cancelled"], told)
            self.assertRegex(told, r"penstock: error: cancelled: [ -~]*\n$")
            self.assertEqual(list(self.folder.glob(digest.name + "*")), [])
            time.sleep(0.5)
            self.assertEqual(len(stub.requests()), asked)


if __name__ == "__main__":
    program.main()
