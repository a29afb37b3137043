"""How URIs, keys, prefixes, pages and credentials go over the wire; no credential is in any output."""

import random
import shutil

from support import program
from support.blob_stub import Fault, status
from support.http_case import SHARD, HttpTest

from penstock_reference import generators
from penstock_reference.safetensors import file_bytes, write_file


class Names(HttpTest):
    def test_sas_goes_over_the_wire_as_it_is(self):
        self.secrets = ["ab%2Bcd%2Fef%3D", "ab+cd/ef=", "ab%252Bcd"]
        token = "se=2099-01-01T00%3A00%3A00Z&sp=rl&sv=2022-11-02&sr=c&sig=ab%2Bcd%2Fef%3D"
        for given in (token, "?" + token):
            stub = self.stub(sas=token)
            env = self.env(stub, AZURE_STORAGE_ACCOUNT_NAME="devaccount", AZURE_STORAGE_SAS_TOKEN=given)
            self.loads(stub, env=env)
            for request in stub.requests():
                self.assertEqual(request.query.count("sig=ab%2Bcd%2Fef%3D"), 1, request)
                self.assertEqual(request.query.count("se=2099-01-01T00%3A00%3A00Z"), 1, request)
                self.assertNotIn("authorization", request.headers)
            self.assertTrue(stub.requests("list") and stub.requests("get"))
            for fault in (
                status(403, "AuthenticationFailed"),
                status(404, "BlobNotFound"),
                status(416, "InvalidRange"),
            ):
                stub.faults = [Fault(fault, "get", SHARD)]
                self.fails_on(stub, ["access", "not_found", "format"], env=env)
            stub.faults = []
            for command in ("inspect", "plan"):
                self.succeeds(command, "az://c/m", env=env)

    def test_secrets_are_not_told_when_they_are_malformed(self):
        self.secrets = ["c2VjcmV0LXNlY3JldA", "sig=abc"]
        stub = self.stub()
        base = {"AZURE_STORAGE_ACCOUNT_NAME": "devaccount"}
        for more in (
            {"AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0LXNlY3JldA=?"},
            {"AZURE_STORAGE_SAS_TOKEN": "sv=2022-11-02&sig=abc\r\nx-evil: 1"},
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName;AccountKey=c2VjcmV0LXNlY3JldA"},
        ):
            with self.subTest(list(more)):
                self.fails_on(
                    stub, ["access", "usage", "config"], env={"AZURE_STORAGE_ENDPOINT": stub.endpoint} | base | more
                )
                self.assertFalse([r for r in stub.requests() if "x-evil" in r.headers])

    def test_shared_key_and_an_endpoint_with_a_path(self):
        key = "c2VjcmV0LWtleS1vZi10aGUtc3R1Yi1zZXJ2ZXI="
        self.secrets = [key, "SharedKey devaccount:"]
        for end in ("", "/"):
            stub = self.stub(account="devaccount", key=key)
            env = {
                "AZURE_STORAGE_ENDPOINT": stub.endpoint + end,
                "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
                "AZURE_STORAGE_ACCOUNT_KEY": key,
            }
            self.loads(stub, env=env)
            self.assertTrue(
                all(r.path == "/devaccount/c" or r.path.startswith("/devaccount/c/m/") for r in stub.requests())
            )
            listed = stub.requests("list")[0]
            self.assertEqual(
                (listed.value("restype"), listed.value("comp"), listed.value("prefix")), ("container", "list", "m/")
            )
            self.assertIn("prefix=m%2F", listed.query)
            stub.key = "YW5vdGhlciBrZXk="
            self.fails_on(stub, "access", ["403"], env=env)

    def test_keys_with_special_characters(self):
        wire = {
            "with space": "with%20space",
            "with%20space": "with%2520space",
            "a+b": "a%2Bb",
            "ü": "%C3%BC",
            "h#h": "h%23h",
            "q?x": "q%3Fx",
            "quote'&<>": None,
        }
        stub, models = self.stub(None, key="a2V5", account="devaccount"), {}
        for seed, name in enumerate(wire):
            models[name] = self.folder / f"special{seed}"
            write_one(models[name], seed)
            stub.put_folder(f"models/{name}/", models[name])
        env = {
            "AZURE_STORAGE_ENDPOINT": stub.endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
            "AZURE_STORAGE_ACCOUNT_KEY": "a2V5",
        }
        for name, encoded in wire.items():
            with self.subTest(name):
                stub.log.clear()
                self.loads(stub, f"az://c/models/{name}", models[name], 1, "as_stored", env=env)
                if encoded:
                    paths = {r.path for r in stub.requests("get")}
                    self.assertTrue(
                        paths and all(p.startswith(f"/devaccount/c/models/{encoded}/") for p in paths), paths
                    )

    def test_only_what_lies_below_the_prefix(self):
        stub, folder = self.stub(None), self.folder / "below"
        write_one(folder, 1)
        stub.put_folder("m/run_dedup/", folder)
        write_one(self.folder / "sibling", 2)
        stub.put_folder("m/run_dedup_version_2/", self.folder / "sibling")
        stub.put("m/run_dedup.safetensors", (self.folder / "sibling" / "model.safetensors").read_bytes())
        for uri in ("az://c/m/run_dedup", "az://c/m/run_dedup/"):
            self.loads(stub, uri, folder, 1, "as_stored")
        self.assertFalse(stub.requests("get", "version_2|run_dedup.safetensors"))
        self.assertFalse(stub.requests("get", "//"))
        self.fails("not_found", ["run_dedu"], "load", "az://c/m/run_dedu", "--arch", "as_stored", env=self.env(stub))
        root = self.stub(folder, "")
        for uri in ("az://c", "az://c/"):
            self.loads(root, uri, folder, 1, "as_stored")

    def test_directories_of_hierarchical_accounts_are_no_files(self):
        for marker in (
            {"resource_type": "directory"},
            {"metadata": {"hdi_isfolder": "true"}},
            {"metadata": {"Hdi_isfolder": "True"}},
        ):
            with self.subTest(marker):
                stub, folder = self.stub(None, hierarchical=True), self.folder / "marked"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (folder / "config.json").write_text("{}")
                (folder / "merges.txt").write_text("")
                for n in (1, 2):
                    write_file(
                        folder / f"model-0000{n}-of-00002.safetensors",
                        [generators.random_tensor(random.Random(n), f"t{n}", "F32", (5, n))],
                    )
                stub.put_folder("models/m/", folder)
                for name in ("models/m", "models/m/sub", "models/m/sub.safetensors", "models/m/tokenizer.json"):
                    stub.put(name, b"", **marker)
                self.loads(stub, "az://c/models/m", folder, 1, "as_stored")
                got = self.new_path("fetched")
                self.succeeds("fetch", "az://c/models/m", got, env=self.env(stub))
                self.assertEqual(
                    sorted(p.relative_to(got).as_posix() for p in got.rglob("*") if p.is_file()),
                    ["config.json", "merges.txt"],
                )
                if "resource_type" in marker:
                    self.assertFalse(stub.requests("get", r"sub|tokenizer\.json|m$"))

    def test_list_of_many_pages(self):
        folder = self.folder / "paged"
        tensors = [generators.random_tensor(random.Random(n), f"t{n}", "BF16", (n + 1, 3)) for n in range(10)]
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        for n, tensor in enumerate(tensors):
            write_file(folder / f"model-{n + 1:05d}-of-00010.safetensors", [tensor])
        stub = self.stub(folder, "p/", page=1000)
        for n in range(2089):
            stub.put(f"p/extra-{n:04d}", b"x")
        stub.faults = [Fault(status(503, "ServerBusy"), "list", where=lambda r: "1000" in r.value("marker"), times=1)]
        self.loads(stub, "az://c/p", folder, 1, "as_stored")
        markers = [r.value("marker") for r in stub.requests("list")]
        self.assertEqual(set(markers), {"", "2!64!a+b/1000==", "2!64!a+b/2000=="})
        self.assertEqual(
            (markers.count(""), markers.count("2!64!a+b/1000==")),
            (1, 2),
            "a retried page does not start the list again",
        )
        self.assertTrue(
            any(
                "marker=2%2164%21a%2Bb%2F1000%3D%3D" in r.query or "marker=2!64!a%2Bb%2F1000%3D%3D" in r.query
                for r in stub.requests("list")
            )
        )

    def test_empty_tensors_are_not_asked_for(self):
        folder = self.folder / "empty"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        text = (
            '{"blk.0.weight":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},'
            '"scaled_fp8":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[6,6]}}'
        )
        (folder / "model.safetensors").write_bytes(file_bytes(text, bytes.fromhex("38393A3B3C3D")))
        stub = self.stub(folder)
        _, report = self.loads(stub, folder=folder, tp=1, arch="as_stored")
        self.assertEqual(report["bytes_needed"], 6)
        self.assertFalse([r for r in stub.requests() if r.status == 416])

    def test_only_the_files_of_the_index_are_weights(self):
        stub = self.stub()
        stub.put("m/consolidated.safetensors", b"no such thing")
        self.loads(stub)
        self.assertFalse(stub.requests("get", "consolidated"))
        self.assertFalse(stub.requests("head", "consolidated"))


def write_one(folder, seed):
    """A folder with one small file."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    rng = random.Random(seed)
    write_file(
        folder / "model.safetensors", [generators.random_tensor(rng, f"t{n}", "F16", (3, n + 1)) for n in range(4)]
    )


if __name__ == "__main__":
    program.main()
