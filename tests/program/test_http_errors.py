"""A blob store that misbehaves: the right bytes or the right error, in bounded time."""

import random

from support import program
from support.blob_stub import Fault, cut, status, with_headers
from support.http_case import MODEL, SHARD, HttpTest, data_read

from penstock_reference import generators
from penstock_reference.safetensors import file_bytes


class Answers(HttpTest):
    """Faults that a client meets once, and errors that no retry mends."""

    def test_a_store_without_faults(self):
        stub = self.stub()
        _, report = self.loads(stub)
        self.assertEqual(report["retries"], 0)
        self.assertTrue(
            all("if-match" in r.headers for r in stub.requests("get") if data_read(r)), "reads are pinned to a version"
        )
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
        stub.faults = [
            Fault(status(416, "InvalidRange", {"Content-Range": f"bytes */{size}"}), "get", SHARD, where=data_read)
        ]
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
        again = [
            r
            for r in stub.requests("get", SHARD)
            if r.time > refused.time and (r.path, r.first) == (refused.path, refused.first)
        ]
        self.assertGreaterEqual(again[0].time - refused.time, 1.9)
        stub = self.stub()
        stub.faults = [
            Fault(status(429, "TooManyRequests", {"Retry-After": "3600"}), "get", SHARD, where=data_read, times=1)
        ]
        self.loads(stub, tp=1, timeout=240)

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
                    self.assertEqual(
                        report["bytes_read"] - report["bytes_discarded"], report["bytes_needed"], "no byte counts twice"
                    )
                    self.assertGreaterEqual(report["retries"], 1)

    def test_object_that_changes(self):
        for how in ("refuses the condition", "ignores the condition"):
            with self.subTest(how):
                stub = self.stub()

                def other(headers, request, blob):
                    headers["ETag"] = '"0x8DFFFFFFFFFFFFF"'

                do = (
                    status(412, "ConditionNotMet")
                    if how.startswith("refuses")
                    else with_headers(other, body=lambda d, b: bytes(len(d)))
                )
                stub.faults = [Fault(do, "get", SHARD, where=data_read)]
                self.fails_on(stub, "changed", ["model-00003-of-00005.safetensors"])

    def test_object_that_is_replaced_between_two_reads(self):
        folder = self.folder / "big"
        config = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64,
            "num_hidden_layers": 1,
            "intermediate_size": 64,
            "num_attention_heads": 4,
            "vocab_size": 20000,
        }
        folder.mkdir()
        generators.write_folder(
            random.Random(3), folder, config, generators.llama_tensors(random.Random(3), config), shards=1
        )
        stub = self.stub(folder)
        name = next(n for n in stub.blobs if n.endswith(".safetensors"))

        def replace(handler, request, blob):
            stub.put(name, bytes(len(blob.data)))
            handler.answer_error(request, 503, "ServerBusy")

        stub.faults = [
            Fault(replace, "get", name, where=lambda r: r.first is not None and r.last > 100_000, skip=1, times=1)
        ]
        self.fails_on(stub, "changed", [name.split("/")[-1]], timeout=240)

    def test_answer_for_another_range(self):
        def shifted(headers, request, blob):
            headers["Content-Range"] = f"bytes {request.first + 1}-{request.last + 1}/{len(blob.data)}"

        def other_total(headers, request, blob):
            headers["Content-Range"] = f"bytes {request.first}-{request.last}/{len(blob.data) + 1}"

        def no_range(headers, request, blob):
            del headers["Content-Range"]

        for change, kinds in (
            (shifted, ["format", "io", "transient"]),
            (other_total, ["format", "io", "transient", "changed"]),
            (no_range, ["format", "io", "transient"]),
        ):
            with self.subTest(change.__name__):
                stub = self.stub()
                stub.faults = [Fault(with_headers(change), "get", SHARD, where=data_read)]
                self.fails_on(stub, kinds, ["model-00003-of-00005.safetensors"], timeout=240)

    def test_whole_object_in_place_of_a_range(self):
        def whole(headers, request, blob):
            headers.pop("Content-Range", None)

        stub = self.stub()
        stub.faults = [Fault(with_headers(whole, 200, lambda data, blob: blob.data), "get", SHARD, where=data_read)]
        self.fails_on(
            stub, ["format", "io", "transient"], ["model-00003-of-00005.safetensors", "200"], timeout=240
        )
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
        stub.faults = [
            Fault(
                with_headers(shorter, body=lambda data, blob: data[: len(data) // 2]),
                "get",
                SHARD,
                where=data_read,
                times=1,
            )
        ]
        self.loads(stub, timeout=240)

    def test_encoded_body_is_refused(self):
        def gzip(headers, request, blob):
            headers["Content-Encoding"] = "gzip"

        stub = self.stub()
        stub.faults = [Fault(with_headers(gzip), "get", SHARD, where=data_read)]
        self.fails_on(stub, ["format", "io", "transient"], ["model-00003-of-00005.safetensors"], timeout=240)

    def test_list_that_is_no_list(self):
        for body in (
            b"<html>login</html>",
            b"<!DOCTYPE a [<!ENTITY b 'c'>]><EnumerationResults>&b;</EnumerationResults>",
            b"",
            b"{}",
        ):
            with self.subTest(body):
                stub = self.stub()

                def answer(handler, request, blob):
                    handler.answer_head(
                        request, 200, {"Content-Type": "application/xml", "Content-Length": str(len(body))}
                    )
                    handler.write(request, body)

                stub.faults = [Fault(answer, "list")]
                self.fails_on(stub, ["format", "io", "transient", "not_found"], [], timeout=240)

    def test_an_unwritable_cache(self):
        stub = self.stub()
        taken = self.folder / "taken"
        taken.write_text("a file where a folder must be")
        env = self.env(stub) | {"HOME": str(taken), "XDG_CACHE_HOME": str(taken / "cache")}
        self.fails_on(stub, "io", [str(taken)], env=env)


if __name__ == "__main__":
    program.main()
