"""The storage of Azure Blobs against an emulator: what only a real service shows (signatures, versions, conditions)."""

import json
import random
import threading
import time

from support import azure_auth, program
from support.azurite import Azurite
from support.program import ProgramTest, executable

WEIGHTS = random.Random(5).randbytes(3_000_000)
NAMES = {"with space/x": b"1", "with%20space/x": b"22", "a+b/x": b"333", "ü/x": b"4444", "h#h/x": b"55555", "q?x/x": b"666666",
         "quote'&<>/x": b"7777777", "empty.txt": b""}


class Emulator(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.azurite = Azurite().start()
        cls.addClassCleanup(cls.azurite.stop)
        cls.azurite.create_container("models")
        cls.azurite.create_container("open", public=True)
        cls.azurite.put("models", "llms/w.bin", WEIGHTS)
        cls.azurite.put("models", "llms2/other", b"sibling")
        cls.azurite.put("open", "w.bin", WEIGHTS)
        for name, data in NAMES.items():
            cls.azurite.put("models", "special/" + name, data)

    def setUp(self):
        super().setUp()
        self.secrets = [azure_auth.KEY]
        self.base = {"AZURE_STORAGE_ENDPOINT": self.azurite.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT}
        self.key = self.base | {"AZURE_STORAGE_ACCOUNT_KEY": azure_auth.KEY}

    def driver(self, *arguments, env):
        made = self.run_program(executable("PENSTOCK_NET_DRIVER", "net_driver"), *arguments, env=env)
        self.assertIn(made.status, (0, 1), made)
        return json.loads(made.out.splitlines()[-1])

    def reads(self, uri, name, want, env, *options):
        out = self.new_path(".bin")
        told = self.driver("read", uri, name, "--chunk", "400000", "--out", out, *options, env=env)
        self.assertNotIn("error", told)
        self.assertEqual(out.read_bytes(), want)
        return told

    def test_ranged_reads_of_a_pinned_version(self):
        told = self.reads("az://models/llms", "w.bin", WEIGHTS, self.key, "--places", "9", "--depth", "8")
        self.assertEqual((told["retries"], told["canary"]), (0, True))
        self.reads("az://models/llms", "w.bin", WEIGHTS[12345:1234567], self.key, "--first", "12345", "--size", str(1234567 - 12345))

    def test_every_kind_of_credential(self):
        service, account = azure_auth.service_sas("models"), azure_auth.account_sas()
        url = self.azurite.endpoint + "/models/llms"
        for uri, env in (("az://models/llms", {"AZURE_STORAGE_CONNECTION_STRING": self.azurite.connection_string}),
                         ("az://models/llms/", self.base | {"AZURE_STORAGE_SAS_TOKEN": service}),
                         ("az://models/llms", self.base | {"AZURE_STORAGE_SAS_TOKEN": "?" + account}),
                         ("az://models@devstoreaccount1.blob.core.windows.net/llms", self.key),
                         (url, {"AZURE_STORAGE_ACCOUNT_KEY": azure_auth.KEY}), (f"{url}?{service}", {}),
                         ("az://open", self.base | {"AZURE_STORAGE_ANON": "true"})):
            with self.subTest(uri=uri.split("?")[0], env=sorted(env)):
                self.reads(uri, "w.bin", WEIGHTS, env)
                self.assertEqual(self.driver("list", uri, env=env), {"files": {"w.bin": len(WEIGHTS)}})

    def test_refusals(self):
        wrong = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXk="
        for env in (self.key | {"AZURE_STORAGE_ACCOUNT_KEY": wrong},
                    self.base | {"AZURE_STORAGE_SAS_TOKEN": azure_auth.service_sas("models", expiry="2021-01-01T00:00:00Z")},
                    self.base | {"AZURE_STORAGE_SAS_TOKEN": azure_auth.service_sas("open")}, self.base, {}):
            for command in (("list", "az://models/llms"), ("pin", "az://models/llms", "w.bin"), ("read", "az://models/llms", "w.bin")):
                told = self.driver(*command, env=env)
                self.assertEqual(told.get("error"), "access", told)

    def test_names_with_special_characters(self):
        self.assertEqual(self.driver("list", "az://models/special", env=self.key), {"files": {n: len(d) for n, d in NAMES.items()}})
        pinned = self.driver("pin", "az://models/special", *NAMES, env=self.key)
        self.assertEqual([o["size"] for o in pinned["objects"]], [len(d) for d in NAMES.values()])
        for name, data in NAMES.items():
            with self.subTest(name):
                self.reads("az://models/special", name, data, self.key)
        folder, _, name = "ü/x".partition("/")
        self.reads("az://models/special/" + folder, name, NAMES["ü/x"], self.key)

    def test_what_is_not_there(self):
        told = self.driver("pin", "az://models/llms", "w.bin", "gone", "lost", env=self.key)
        self.assertEqual((told["error"], told["status"], told["code"]), ("not_found", 404, "BlobNotFound"))
        self.assertIn("gone, lost", told["message"])
        self.assertEqual(self.driver("list", "az://models/llm", env=self.key)["error"], "not_found")
        told = self.driver("list", "az://nowhere/llms", env=self.key)
        self.assertEqual((told["error"], told["code"]), ("not_found", "ContainerNotFound"))

    def test_an_object_that_is_overwritten_between_pin_and_read(self):
        self.azurite.put("models", "again/w.bin", WEIGHTS)
        go = self.new_path(".go")

        def overwrite():
            time.sleep(1)
            self.azurite.put("models", "again/w.bin", bytes(len(WEIGHTS)))
            go.write_text("")

        other = threading.Thread(target=overwrite)
        other.start()
        told = self.driver("read", "az://models/again", "w.bin", "--pause", go, env=self.key)
        other.join()
        self.assertEqual((told.get("error"), told.get("code")), ("changed", "ConditionNotMet"), told)

    def test_versions_are_those_of_the_header(self):
        _, body = self.azurite.request("GET", "models", [("restype", "container"), ("comp", "list"), ("prefix", "llms/")])
        etag = body.decode().split("<Etag>")[1].split("</Etag>")[0]
        pinned = self.driver("pin", "az://models/llms", "w.bin", env=self.key)["objects"][0]
        self.assertEqual(pinned["version"].strip('"'), etag.strip('"'))
        self.assertTrue(pinned["version"].startswith('"') and pinned["version"].endswith('"'))


if __name__ == "__main__":
    program.main()
