"""A blob store that misbehaves: the right bytes or the right error, in bounded time, and no credential in any output."""

import concurrent.futures
import random
import shutil

from support import DATA, program
from support.blob_stub import BlobStub, Fault, close, cut, say_nothing, status, with_headers
from support.program import ProgramTest

from penstock_reference import generators
from penstock_reference.architectures import parameters
from penstock_reference.checkpoint import Checkpoint
from penstock_reference.safetensors import file_bytes, read_header, write_file

MODEL = DATA / "tiny_llama_untied"
ANONYMOUS = {"AZURE_STORAGE_ANON": "1", "AZURE_STORAGE_ACCOUNT_NAME": "devaccount"}
SHARD = r"00003-of-00005\.safetensors$"  # the shard that the faults concern
# The most a load may take when its store never gives a good answer: 10 attempts and 180 s are the most that are allowed.
PATIENCE = 240


def data_read(request):
    """Is it a read of tensor bytes, not of a header?"""
    return request.first is not None and request.first >= DATA_STARTS.get(request.name.split("/")[-1], 0)


DATA_STARTS = {file.name: min(t.first for t in read_header(file).values()) for file in MODEL.glob("*.safetensors")}


class HttpTest(ProgramTest):
    def stub(self, folder=MODEL, prefix="m/", **options):
        stub = BlobStub(**options)
        self.addCleanup(stub.stop)
        if folder:
            stub.put_folder(prefix, folder)
        return stub

    def env(self, stub, **more):
        return {"AZURE_STORAGE_ENDPOINT": stub.endpoint} | (more or ANONYMOUS)

    def loads(self, stub, uri="az://c/m", folder=MODEL, tp=2, arch="llama", env=None, **options):
        """A load with the right bytes."""
        made, digests, report = self.load(uri, "--tp", str(tp), "--arch", arch, env=env or self.env(stub), **options)
        want = {(rank, p.name): p.line(rank) for rank in range(tp) for p in parameters(Checkpoint(folder), arch, tp, rank)}
        self.assertEqual(digests, want, made)
        return made, report

    def fails_on(self, stub, kinds, words=(), uri="az://c/m", env=None, **options):
        return self.fails(kinds, words, "load", uri, "--tp", "2", env=env or self.env(stub), **options)


class Answers(HttpTest):
    """Faults that a client meets once, and errors that no retry mends."""

    def test_a_store_without_faults(self):
        stub = self.stub()
        _, report = self.loads(stub)
        self.assertEqual(report["retries"], 0)
        self.assertTrue(all("if-match" in r.headers for r in stub.requests("get") if data_read(r)), "reads are pinned to a version")
        self.assertEqual({r.status for r in stub.requests("get") if data_read(r)}, {206})

    def test_forbidden(self):
        for op, name in (("any", ""), ("get", SHARD), ("get", r"config\.json$")):
            with self.subTest(op=op, name=name):
                stub = self.stub()
                stub.faults = [Fault(status(403, "AuthorizationPermissionMismatch"), op, name)]
                self.fails_on(stub, "access", ["403", "AuthorizationPermissionMismatch"])
                self.assertLessEqual(len(stub.requests(None, name)), 24, "a refusal is not asked again and again")

    def test_not_found(self):
        stub = self.stub()
        stub.faults = [Fault(status(404, "BlobNotFound"), "any", SHARD)]
        self.fails_on(stub, "not_found", ["model-00003-of-00005.safetensors"])
        stub = self.stub()
        self.fails_on(stub, "not_found", ["az://c/nowhere"], "az://c/nowhere")
        self.fails_on(stub, "not_found", ["other"], "az://other/m")

    def test_missing_shards_are_all_named_and_not_asked_for_twice(self):
        stub = self.stub()
        gone = ["model-00002-of-00005.safetensors", "model-00005-of-00005.safetensors"]
        for name in gone:
            del stub.blobs["m/" + name]
        self.fails_on(stub, "not_found", gone)
        for name in gone:
            self.assertLessEqual(len(stub.requests(None, name)), 1)

    def test_range_not_satisfiable(self):
        stub = self.stub()
        size = len(stub.blobs["m/model-00003-of-00005.safetensors"].data)
        stub.faults = [Fault(status(416, "InvalidRange", {"Content-Range": f"bytes */{size}"}), "get", SHARD, where=data_read)]
        self.fails_on(stub, "format", ["416", "model-00003-of-00005.safetensors"])

    def test_object_that_ends_before_its_tensors(self):
        folder = self.folder / "short"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        text = '{"w":{"dtype":"U8","shape":[4096],"data_offsets":[0,4096]}}'
        (folder / "model.safetensors").write_bytes(file_bytes(text, bytes(4092)))
        stub = self.stub(folder)
        size = 8 + len(text) + 4092
        self.fails("format", [str(size), str(size + 4)], "load", "az://c/m", "--arch", "as_stored", env=self.env(stub))

    def test_unavailable_twice(self):
        stub = self.stub()
        fault = Fault(status(503, "ServerBusy"), "get", SHARD, where=data_read, times=2)
        stub.faults = [fault]
        _, report = self.loads(stub)
        self.assertGreaterEqual(fault.hits, 2)
        self.assertGreaterEqual(report["retries"], 2)
        self.assertEqual(report["bytes_read"] - report["bytes_discarded"], report["bytes_needed"])

    def test_unavailable_while_listing_and_opening(self):
        for op, name in (("list", ""), ("get", r"config\.json$"), ("get", r"index\.json$"), ("get", SHARD)):
            with self.subTest(op=op, name=name):
                stub = self.stub()
                stub.faults = [Fault(status(503, "ServerBusy"), op, name, times=2)]
                self.loads(stub)

    def test_retry_after_is_honoured_up_to_a_cap(self):
        stub = self.stub()
        stub.faults = [Fault(status(503, "ServerBusy", {"Retry-After": "2"}), "get", SHARD, where=data_read, times=1)]
        self.loads(stub, tp=1)
        refused, *_ = [r for r in stub.requests("get", SHARD) if r.status == 503]
        again = [r for r in stub.requests("get", SHARD) if r.time > refused.time and (r.path, r.first) == (refused.path, refused.first)]
        self.assertGreaterEqual(again[0].time - refused.time, 1.9)
        stub = self.stub()
        stub.faults = [Fault(status(429, "TooManyRequests", {"Retry-After": "3600"}), "get", SHARD, where=data_read, times=1)]
        self.loads(stub, tp=1, timeout=PATIENCE)

    def test_body_that_breaks_off_is_continued_from_the_last_good_byte(self):
        for reset in (True, False):
            for after in (400, 1, 0):
                with self.subTest(reset=reset, after=after):
                    stub = self.stub()
                    stub.faults = [Fault(cut(after, reset), "get", SHARD, where=data_read, times=1)]
                    _, report = self.loads(stub, tp=1)
                    reads = [r for r in stub.requests("get", SHARD) if data_read(r)]
                    broken = next(r for r in reads if r.sent == after and r.sent < r.last - r.first + 1)
                    again = [r for r in reads if r.time > broken.time and r.last == broken.last]
                    self.assertEqual([r.first for r in again], [broken.first + after], reads)
                    self.assertEqual(again[0].headers.get("if-match"), broken.headers.get("if-match"))
                    self.assertIn("if-match", again[0].headers)
                    self.assertEqual(report["bytes_read"] - report["bytes_discarded"], report["bytes_needed"], "no byte counts twice")
                    self.assertGreaterEqual(report["retries"], 1)

    def test_object_that_changes(self):
        for how in ("refuses the condition", "ignores the condition"):
            with self.subTest(how):
                stub = self.stub()

                def other(headers, request, blob):
                    headers["ETag"] = '"0x8DFFFFFFFFFFFFF"'

                do = status(412, "ConditionNotMet") if how.startswith("refuses") else with_headers(other, body=lambda d, b: bytes(len(d)))
                stub.faults = [Fault(do, "get", SHARD, where=data_read)]
                self.fails_on(stub, "changed", ["model-00003-of-00005.safetensors"])

    def test_object_that_is_replaced_between_two_reads(self):
        folder = self.folder / "big"
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
                  "intermediate_size": 64, "num_attention_heads": 4, "vocab_size": 20000}
        folder.mkdir()
        generators.write_folder(random.Random(3), folder, config, generators.llama_tensors(random.Random(3), config), shards=1)
        stub = self.stub(folder)
        name = next(n for n in stub.blobs if n.endswith(".safetensors"))

        def replace(handler, request, blob):
            stub.put(name, bytes(len(blob.data)))
            handler.answer_error(request, 503, "ServerBusy")

        stub.faults = [Fault(replace, "get", name, where=lambda r: r.first is not None and r.last > 100_000, skip=1, times=1)]
        self.fails_on(stub, "changed", [name.split("/")[-1]], timeout=PATIENCE)

    def test_answer_for_another_range(self):
        def shifted(headers, request, blob):
            headers["Content-Range"] = f"bytes {request.first + 1}-{request.last + 1}/{len(blob.data)}"

        def other_total(headers, request, blob):
            headers["Content-Range"] = f"bytes {request.first}-{request.last}/{len(blob.data) + 1}"

        def no_range(headers, request, blob):
            del headers["Content-Range"]

        for change, kinds in ((shifted, ["format", "io", "transient"]), (other_total, ["format", "io", "transient", "changed"]),
                              (no_range, ["format", "io", "transient"])):
            with self.subTest(change.__name__):
                stub = self.stub()
                stub.faults = [Fault(with_headers(change), "get", SHARD, where=data_read)]
                self.fails_on(stub, kinds, ["model-00003-of-00005.safetensors"], timeout=PATIENCE)

    def test_whole_object_in_place_of_a_range(self):
        def whole(headers, request, blob):
            headers.pop("Content-Range", None)

        stub = self.stub()
        stub.faults = [Fault(with_headers(whole, 200, lambda data, blob: blob.data), "get", SHARD, where=data_read)]
        self.fails_on(stub, ["format", "io", "transient"], ["model-00003-of-00005.safetensors", "200"], timeout=PATIENCE)
        stub = self.stub()  # it is right when the range is the whole object

        def all_of_it(request):
            blob = stub.blobs.get(request.name)
            return blob is not None and request.first == 0 and request.last == len(blob.data) - 1

        stub.faults = [Fault(with_headers(whole, 200, lambda data, blob: blob.data), "get", where=all_of_it)]
        self.loads(stub)

    def test_body_that_is_shorter_than_the_range(self):
        def shorter(headers, request, blob):
            pass  # Content-Length is that of the short body, Content-Range that of the whole range

        stub = self.stub()
        stub.faults = [Fault(with_headers(shorter, body=lambda data, blob: data[:len(data) // 2]), "get", SHARD, where=data_read, times=1)]
        self.loads(stub, timeout=PATIENCE)

    def test_encoded_body_is_refused(self):
        def gzip(headers, request, blob):
            headers["Content-Encoding"] = "gzip"

        stub = self.stub()
        stub.faults = [Fault(with_headers(gzip), "get", SHARD, where=data_read)]
        self.fails_on(stub, ["format", "io", "transient"], ["model-00003-of-00005.safetensors"], timeout=PATIENCE)

    def test_list_that_is_no_list(self):
        for body in (b"<html>login</html>", b"<!DOCTYPE a [<!ENTITY b 'c'>]><EnumerationResults>&b;</EnumerationResults>", b"", b"{}"):
            with self.subTest(body):
                stub = self.stub()

                def answer(handler, request, blob):
                    handler.answer_head(request, 200, {"Content-Type": "application/xml", "Content-Length": str(len(body))})
                    handler.write(request, body)

                stub.faults = [Fault(answer, "list")]
                self.fails_on(stub, ["format", "io", "transient", "not_found"], [], timeout=PATIENCE)

    def test_an_unwritable_cache(self):
        stub = self.stub()
        taken = self.folder / "taken"
        taken.write_text("a file where a folder must be")
        env = self.env(stub) | {"HOME": str(taken), "XDG_CACHE_HOME": str(taken / "cache")}
        self.fails_on(stub, "io", [str(taken)], env=env)


class Forever(HttpTest):
    """Faults that never end: retries are used up in bounded time. All at once, for most of the time is waiting."""

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
        words = {"500 to reads": ["500", "model-00003-of-00005.safetensors"], "500 to everything": ["500"], "503 to lists": ["503"],
                 "closes on reads": ["model-00003-of-00005.safetensors"], "silence on reads": ["model-00003-of-00005.safetensors"],
                 "resets before a byte": ["model-00003-of-00005.safetensors"]}
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


class Names(HttpTest):
    """How URIs, keys, prefixes and pages go over the wire."""

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
            for fault in (status(403, "AuthenticationFailed"), status(404, "BlobNotFound"), status(416, "InvalidRange")):
                stub.faults = [Fault(fault, "get", SHARD)]
                self.fails_on(stub, ["access", "not_found", "format"], env=env)
            stub.faults = []
            for command in ("inspect", "plan"):
                self.succeeds(command, "az://c/m", env=env)

    def test_secrets_are_not_told_when_they_are_malformed(self):
        self.secrets = ["c2VjcmV0LXNlY3JldA", "sig=abc"]
        stub = self.stub()
        base = {"AZURE_STORAGE_ACCOUNT_NAME": "devaccount"}
        for more in ({"AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0LXNlY3JldA=?"},
                     {"AZURE_STORAGE_SAS_TOKEN": "sv=2022-11-02&sig=abc\r\nx-evil: 1"},
                     {"AZURE_STORAGE_CONNECTION_STRING": "AccountName;AccountKey=c2VjcmV0LXNlY3JldA"}):
            with self.subTest(list(more)):
                self.fails_on(stub, ["access", "usage", "config"], env={"AZURE_STORAGE_ENDPOINT": stub.endpoint} | base | more)
                self.assertFalse([r for r in stub.requests() if "x-evil" in r.headers])

    def test_shared_key_and_an_endpoint_with_a_path(self):
        key = "c2VjcmV0LWtleS1vZi10aGUtc3R1Yi1zZXJ2ZXI="
        self.secrets = [key, "SharedKey devaccount:"]
        for end in ("", "/"):
            stub = self.stub(account="devaccount", key=key)
            env = {"AZURE_STORAGE_ENDPOINT": stub.endpoint + end, "AZURE_STORAGE_ACCOUNT_NAME": "devaccount", "AZURE_STORAGE_ACCOUNT_KEY": key}
            self.loads(stub, env=env)
            self.assertTrue(all(r.path == "/devaccount/c" or r.path.startswith("/devaccount/c/m/") for r in stub.requests()))
            listed = stub.requests("list")[0]
            self.assertEqual((listed.value("restype"), listed.value("comp"), listed.value("prefix")), ("container", "list", "m/"))
            self.assertIn("prefix=m%2F", listed.query)
            stub.key = "YW5vdGhlciBrZXk="
            self.fails_on(stub, "access", ["403"], env=env)

    def test_keys_with_special_characters(self):
        wire = {"with space": "with%20space", "with%20space": "with%2520space", "a+b": "a%2Bb", "ü": "%C3%BC", "h#h": "h%23h", "q?x": "q%3Fx",
                "quote'&<>": None}
        stub, models = self.stub(None, key="a2V5", account="devaccount"), {}
        for seed, name in enumerate(wire):
            models[name] = self.folder / f"special{seed}"
            write_one(models[name], seed)
            stub.put_folder(f"models/{name}/", models[name])
        env = {"AZURE_STORAGE_ENDPOINT": stub.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": "devaccount", "AZURE_STORAGE_ACCOUNT_KEY": "a2V5"}
        for name, encoded in wire.items():
            with self.subTest(name):
                stub.log.clear()
                self.loads(stub, f"az://c/models/{name}", models[name], 1, "as_stored", env=env)
                if encoded:
                    paths = {r.path for r in stub.requests("get")}
                    self.assertTrue(paths and all(p.startswith(f"/devaccount/c/models/{encoded}/") for p in paths), paths)

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
        for marker in ({"resource_type": "directory"}, {"metadata": {"hdi_isfolder": "true"}}, {"metadata": {"Hdi_isfolder": "True"}}):
            with self.subTest(marker):
                stub, folder = self.stub(None, hierarchical=True), self.folder / "marked"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (folder / "config.json").write_text("{}")
                (folder / "merges.txt").write_text("")
                for n in (1, 2):
                    write_file(folder / f"model-0000{n}-of-00002.safetensors", [generators.random_tensor(random.Random(n), f"t{n}", "F32", (5, n))])
                stub.put_folder("models/m/", folder)
                for name in ("models/m", "models/m/sub", "models/m/sub.safetensors", "models/m/tokenizer.json"):
                    stub.put(name, b"", **marker)
                self.loads(stub, "az://c/models/m", folder, 1, "as_stored")
                got = self.new_path("fetched")
                self.succeeds("fetch", "az://c/models/m", got, env=self.env(stub))
                self.assertEqual(sorted(p.relative_to(got).as_posix() for p in got.rglob("*") if p.is_file()), ["config.json", "merges.txt"])
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
        self.assertEqual((markers.count(""), markers.count("2!64!a+b/1000==")), (1, 2), "a retried page does not start the list again")
        self.assertTrue(any("marker=2%2164%21a%2Bb%2F1000%3D%3D" in r.query or "marker=2!64!a%2Bb%2F1000%3D%3D" in r.query
                            for r in stub.requests("list")))

    def test_empty_tensors_are_not_asked_for(self):
        folder = self.folder / "empty"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        text = ('{"blk.0.weight":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},'
                '"scaled_fp8":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[6,6]}}')
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
    write_file(folder / "model.safetensors", [generators.random_tensor(rng, f"t{n}", "F16", (3, n + 1)) for n in range(4)])


if __name__ == "__main__":
    program.main()
