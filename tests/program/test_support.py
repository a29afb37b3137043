"""The tests' own tools: a signer, a server and a runner that are wrong would hide what they are to find."""

import http.client
import json
import sys
import unittest

from support import DATA, azure_auth, program
from support.azurite import Azurite
from support.blob_stub import BlobStub, Fault, close, cut, status
from support.program import MIB, clean_environment, run


class Signatures(unittest.TestCase):
    def test_vectors(self):
        """Worked out once from the service's description, and taken by an emulator."""
        base = {"x-ms-date": "Fri, 26 Jun 2015 23:39:12 GMT", "x-ms-version": "2023-11-03"}
        ranged = {
            "x-ms-range": "bytes=1048576-9437183",
            "If-Match": '"0x8D2B7DA5E6CB5D0"',
            "x-ms-client-request-id": "00000000-0000-0000-0000-000000000001",
        }
        listing = [
            ("restype", "container"),
            ("comp", "list"),
            ("prefix", "llama 3/"),
            ("delimiter", "/"),
            ("maxresults", "5000"),
        ]
        for path, query, headers, want in (
            (
                "/models/llama%203/model-00001.safetensors",
                [],
                base | ranged,
                "PxGYbb7T/4d+I43XmaAW0gOSDOZtFq1CNIhgqnx0+lk=",
            ),
            ("/models", listing, base, "8we5Q9Mf82DeeZkqA3RJyXuXz2cnHRsDB+72gWIOm8c="),
            ("/devstoreaccount1/models/x.bin", [], base, "amZUximdVAKu8JP7we3eg2aJnM2l+kres0ldauAVeVA="),
        ):
            self.assertEqual(azure_auth.shared_key("GET", path, query, headers), want)


class Runner(unittest.TestCase):
    def test_memory_time_and_output(self):
        env = clean_environment("/nonexistent")
        made = run([sys.executable, "-c", f"x = bytearray({200 * MIB}); print(len(x))"], env=env)
        self.assertEqual((made.status, made.out), (0, f"{200 * MIB}\n"))
        self.assertGreater(made.peak_bytes, 200 * MIB)
        self.assertLess(
            run([sys.executable, "-c", ""], env=env).peak_bytes,
            100 * MIB,
            "the peak of one child is not that of another",
        )
        made = run([sys.executable, "-c", "import time; time.sleep(60)"], env=env, timeout=1)
        self.assertEqual(made.status, -9)
        self.assertLess(made.seconds, 10)

    def test_nothing_of_the_caller_reaches_the_program(self):
        made = run(
            [sys.executable, "-c", "import os, json; print(json.dumps(list(os.environ)))"],
            env=clean_environment("/nonexistent"),
        )
        self.assertFalse([n for n in json.loads(made.out) if n.startswith("AZURE") or "proxy" in n.lower()])


class Stub(unittest.TestCase):
    def setUp(self):
        self.stub = BlobStub()
        self.addCleanup(self.stub.stop)
        self.stub.put("m/a", bytes(range(100)))

    def ask(self, path, **headers):
        connection = http.client.HTTPConnection(self.stub.endpoint.split("/")[2], timeout=10)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer

    def test_ranges_and_conditions(self):
        code, headers, answer = self.ask("/devaccount/c/m/a", x_ms_range="bytes=10-19")
        self.assertEqual(
            (code, headers["Content-Range"], answer.read()), (206, "bytes 10-19/100", bytes(range(10, 20)))
        )
        self.assertEqual(self.ask("/devaccount/c/m/a", Range="bytes=100-101")[0], 416)
        self.assertEqual(self.ask("/devaccount/c/m/a", Range="bytes=5-3")[0], 416)
        self.assertEqual(self.ask("/devaccount/c/m/a", If_Match='"other"')[0], 412)
        self.assertEqual(self.ask("/devaccount/c/m/a", If_Match=headers["ETag"])[0], 200)
        self.assertEqual(self.ask("/devaccount/c/m/b")[0], 404)
        self.assertEqual(self.ask("/devaccount/other/m/a")[0], 404)

    def test_faults(self):
        self.stub.faults = [Fault(status(503, "ServerBusy"), name="a$", times=1)]
        self.assertEqual([self.ask("/devaccount/c/m/a")[0] for _ in range(2)], [503, 200])
        self.stub.faults = [Fault(cut(5, reset=True), times=1), Fault(close(), times=1)]
        _, _, answer = self.ask("/devaccount/c/m/a", Range="bytes=0-49")
        with self.assertRaises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionResetError)):
            self.ask("/devaccount/c/m/a")

    def test_signatures_are_checked(self):
        self.stub.key = azure_auth.KEY
        self.assertEqual(self.ask("/devaccount/c/m/a")[0], 403)
        sent = {"x-ms-date": "Fri, 26 Jun 2015 23:39:12 GMT"}
        for key, want in ((azure_auth.KEY, 200), ("d3Jvbmc=", 403)):
            sig = azure_auth.shared_key("GET", "/devaccount/c/m/a", [], sent, "devaccount", key)
            self.assertEqual(
                self.ask("/devaccount/c/m/a", Authorization=f"SharedKey devaccount:{sig}", **sent)[0], want
            )


class Emulator(unittest.TestCase):
    def test_upload(self):
        azurite = Azurite().start()
        self.addCleanup(azurite.stop)
        azurite.create_container("uploads")
        azurite.upload("uploads", "with space/ü", DATA / "tiny_llama_bias")
        code, body = azurite.request("GET", "uploads/with space/ü/config.json")
        self.assertEqual((code, body), (200, (DATA / "tiny_llama_bias" / "config.json").read_bytes()))


if __name__ == "__main__":
    program.main()
