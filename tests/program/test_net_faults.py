"""The HTTP lane against a server that misbehaves: the right bytes or the right error, nothing written where none belongs."""

import json
import random
import socket
import ssl
import struct
import threading
import time
import warnings

from support import program
from support.blob_stub import BlobStub, Fault, close, cut, say_nothing, status, with_headers
from support.program import ProgramTest, executable
from support.tls import behind_tls

SIZE = 1_500_000
DATA = random.Random(7).randbytes(SIZE)
QUICK = ("--base", "2", "--chunk", "300000", "--depth", "3")


def raw(make, linger=False):
    """A fault that writes its answer byte for byte: `make(request, blob)`."""
    def do(handler, request, blob):
        handler.close_connection = True
        handler.wfile.write(make(request, blob))
        if linger:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return do


def head(request, blob, *, code=206, lines=(), length=True, size=None):
    n = request.last - request.first + 1
    text = [f"HTTP/1.1 {code} X", f'ETag: "{blob.etag}"' if not blob.etag.startswith('"') else f"ETag: {blob.etag}",
            f"Content-Range: bytes {request.first}-{request.last}/{len(blob.data)}", *lines]
    if length:
        text.append(f"Content-Length: {n if size is None else size}")
    return ("\r\n".join(text) + "\r\n\r\n").encode()


def part(request, blob):
    return blob.data[request.first:request.last + 1]


def chunked(data, end=True):
    out = b"".join(b"%x\r\n" % len(data[i:i + 70000]) + data[i:i + 70000] + b"\r\n" for i in range(0, len(data), 70000))
    return out + (b"0\r\n\r\n" if end else b"")


class Driver(ProgramTest):
    def stub(self, data=DATA, **options):
        stub = BlobStub(**options)
        self.addCleanup(stub.stop)
        stub.put("m/w", data)
        return stub

    def environment_of(self, stub):
        return {"AZURE_STORAGE_ANON": "1", "AZURE_STORAGE_ACCOUNT_NAME": "devaccount", "AZURE_STORAGE_ENDPOINT": stub.endpoint}

    def driver(self, *arguments, env=(), timeout=120):
        made = self.run_program(executable("PENSTOCK_NET_DRIVER", "net_driver"), *arguments, env=env, timeout=timeout)
        self.assertIn(made.status, (0, 1), made)
        return json.loads(made.out.splitlines()[-1]), made

    def read(self, stub, *options, want=DATA):
        out = self.new_path(".bin")
        told, made = self.driver("read", "az://c/m", "w", *QUICK, *options, "--out", out, env=self.environment_of(stub))
        self.assertNotIn("error", told, made)
        self.assertEqual(out.read_bytes(), want, made)
        self.assertTrue(told["canary"])
        return told

    def refused(self, stub, kind, *options, words=()):
        told, made = self.driver("read", "az://c/m", "w", *QUICK, *options, env=self.environment_of(stub))
        self.assertEqual(told.get("error"), kind, made)
        self.assertIn("az://c/m/w", told["message"])
        for word in words:
            self.assertIn(word, told["message"])
        return told


class Bodies(Driver):
    """What a body may do."""

    def heals(self, do, times=3, retries=None, options=()):
        stub = self.stub()
        stub.faults = [Fault(do, times=times)]
        told = self.read(stub, *options)
        self.assertEqual(told["retries"], times if retries is None else retries)
        self.assertTrue(all("if-match" in r.headers for r in stub.requests("get")))
        return stub

    def test_without_a_fault(self):
        self.assertEqual(self.read(self.stub(), "--places", "7")["retries"], 0)

    def test_end_before_the_length(self):
        stub = self.heals(raw(lambda r, b: head(r, b) + part(r, b)[:1000]), times=1)
        again = [r for r in stub.requests("get") if r.first % 300000 == 1000]
        self.assertEqual(len(again), 1, "the read goes on from the last good byte")

    def test_reset(self):
        self.heals(cut(500, True), times=1)

    def test_end_without_a_length(self):
        self.heals(raw(lambda r, b: head(r, b, length=False) + part(r, b)[:1000]))

    def test_last_chunk_missing(self):
        self.heals(raw(lambda r, b: head(r, b, length=False, lines=["Transfer-Encoding: chunked"]) + chunked(part(r, b)[:99000], False)))

    def test_whole_in_chunks(self):
        stub = self.stub()
        stub.faults = [Fault(raw(lambda r, b: head(r, b, length=False, lines=["Transfer-Encoding: chunked"]) + chunked(part(r, b))))]
        self.assertEqual(self.read(stub)["retries"], 0)

    def test_length_and_chunks(self):
        stub = self.stub()
        stub.faults = [Fault(raw(lambda r, b: head(r, b, lines=["Transfer-Encoding: chunked"], size=7) + chunked(part(r, b))))]
        self.assertEqual(self.read(stub)["retries"], 0)

    def test_length_too_small(self):
        self.heals(raw(lambda r, b: head(r, b, size=1234) + part(r, b)))

    def test_length_too_large(self):
        self.heals(raw(lambda r, b: head(r, b, size=r.last - r.first + 9) + part(r, b) + bytes(8)), times=1)
        stub = self.stub()
        stub.faults = [Fault(raw(lambda r, b: head(r, b, size=r.last - r.first + 9) + part(r, b) + bytes(8)))]
        self.refused(stub, "format")

    def test_more_than_asked_for(self):
        more = bytes(1 << 20)
        for do in (raw(lambda r, b: head(r, b, length=False, lines=["Transfer-Encoding: chunked"]) + chunked(part(r, b) + more)),
                   raw(lambda r, b: head(r, b, length=False) + part(r, b) + more)):
            self.heals(do, times=1)
            stub = self.stub()
            stub.faults = [Fault(do)]
            self.refused(stub, "format", words=["found more"])

    def test_two_lengths(self):
        self.heals(raw(lambda r, b: head(r, b, lines=["Content-Length: 77"]) + part(r, b)))

    def test_lengths_that_are_no_numbers(self):
        for value in ("99999999999999999999999", "12 apples", "-5"):
            with self.subTest(value):
                self.heals(raw(lambda r, b: head(r, b, size=value) + part(r, b)))

    def test_no_answer_at_all(self):
        self.heals(close())
        self.heals(raw(lambda r, b: b"", linger=True))

    def test_answers_before_the_answer(self):
        stub = self.stub()
        early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\nETag: \"x\"\r\n\r\n"
        stub.faults = [Fault(raw(lambda r, b: early + head(r, b) + part(r, b)))]
        self.assertEqual(self.read(stub)["retries"], 0)

    def test_stall(self):
        def stall(handler, request, blob):
            handler.close_connection = True
            handler.wfile.write(head(request, blob) + part(request, blob)[:1000])
            handler.server.owner.stopping.wait(60)
        self.heals(stall, times=1, options=("--stall", "400"))
        stub = self.stub()
        stub.faults = [Fault(stall)]
        self.refused(stub, "transient", "--stall", "200", "--attempts", "3", words=["stalled", "3 attempts", "200 ms"])

    def test_silence(self):
        self.heals(say_nothing, times=1, options=("--first-byte", "300"))
        stub = self.stub()
        stub.faults = [Fault(say_nothing)]
        self.refused(stub, "transient", "--first-byte", "200", "--attempts", "2", words=["no answer within 200 ms", "2 attempts"])

    def test_a_slow_body_is_no_stall(self):
        def drip(handler, request, blob):
            handler.close_connection = True
            handler.wfile.write(head(request, blob))
            data = part(request, blob)
            for i in range(0, len(data), 10000):
                handler.wfile.write(data[i:i + 10000])
                time.sleep(0.03)
        self.assertEqual(len(self.heals(drip, times=2, retries=0, options=("--stall", "300")).requests("get")), 5)

    def test_all_faults_at_random(self):
        rng = random.Random(3)
        kinds = [cut(0, True), cut(70000, False), close(), status(503, "ServerBusy"), status(500, "InternalError"),
                 raw(lambda r, b: head(r, b, length=False) + part(r, b)[:5000]), raw(lambda r, b: head(r, b, size=4000) + part(r, b)),
                 raw(lambda r, b: head(r, b, lines=["Content-Length: 1"]) + part(r, b))]
        stub = self.stub()
        stub.faults = [Fault(lambda h, r, b: rng.choice(kinds)(h, r, b), where=lambda r: rng.random() < 0.5)]
        told = self.read(stub, "--chunk", "100000", "--places", "5", "--attempts", "60")
        self.assertGreater(told["retries"], 4)


class Answers(Driver):
    """What an answer's header may say."""

    def test_another_range(self):
        def shifted(h, r, b):
            h["Content-Range"] = f"bytes {r.first + 1}-{r.last + 1}/{len(b.data)}"

        def wider(h, r, b):
            h["Content-Range"] = f"bytes {max(0, r.first - 1)}-{r.last}/{len(b.data)}"

        def unit(h, r, b):
            h["Content-Range"] = f"lines {r.first}-{r.last}/{len(b.data)}"

        def missing(h, r, b):
            del h["Content-Range"]

        for change in (shifted, wider, unit, missing):
            with self.subTest(change.__name__):
                stub = self.stub()
                stub.faults = [Fault(with_headers(change), where=lambda r: r.first == 300000)]
                self.refused(stub, "format", words=["Content-Range"])
                self.assertEqual(len([r for r in stub.requests("get") if r.first == 300000]), 2, "once more, for a proxy's sake")
                stub = self.stub()
                stub.faults = [Fault(with_headers(change), where=lambda r: r.first == 300000, times=1)]
                self.read(stub)

    def test_another_total(self):
        def other(h, r, b):
            h["Content-Range"] = f"bytes {r.first}-{r.last}/{len(b.data) + 1}"

        def unknown(h, r, b):
            h["Content-Range"] = f"bytes {r.first}-{r.last}/*"

        stub = self.stub()
        stub.faults = [Fault(with_headers(other))]
        self.refused(stub, "changed", words=[str(SIZE), str(SIZE + 1)])
        stub.faults = [Fault(with_headers(unknown))]
        self.read(stub)

    def test_whole_object(self):
        def whole(h, r, b):
            del h["Content-Range"]

        stub = self.stub()
        stub.faults = [Fault(with_headers(whole, 200, lambda data, blob: blob.data))]
        self.refused(stub, "io", words=["200", "Range"])
        self.assertEqual(self.read(stub, "--chunk", str(SIZE))["retries"], 0)

    def test_encoded_and_in_parts(self):
        for name, value, kind in (("Content-Encoding", "gzip", "format"), ("Content-Type", "multipart/byteranges; boundary=x", "io")):
            with self.subTest(name):
                stub = self.stub()
                stub.faults = [Fault(with_headers(lambda h, r, b: h.update({name: value})))]
                self.refused(stub, kind)
                self.assertLessEqual(len(stub.requests("get")), 3)
        stub.faults = [Fault(with_headers(lambda h, r, b: h.update({"Content-Encoding": "identity"})))]
        self.read(stub)

    def test_another_version(self):
        stub = self.stub()
        stub.faults = [Fault(with_headers(lambda h, r, b: h.update({"ETag": '"0xother"'})), where=lambda r: r.first > 0)]
        self.refused(stub, "changed")
        stub.faults = [Fault(with_headers(lambda h, r, b: h.pop("ETag")))]
        self.refused(stub, "io", words=["ETag"])

    def test_statuses(self):
        for code, name, kind, attempts in ((404, "BlobNotFound", "not_found", 1), (403, "AuthorizationFailure", "access", 1),
                                           (401, "NoAuthenticationInformation", "access", 1), (409, "PublicAccessNotPermitted", "access", 1),
                                           (409, "BlobArchived", "io", 1), (400, "InvalidHeaderValue", "io", 1),
                                           (412, "ConditionNotMet", "changed", 1), (416, "InvalidRange", "format", 1),
                                           (500, "InternalError", "transient", 3), (503, "ServerBusy", "transient", 3),
                                           (429, "TooManyRequests", "transient", 3), (408, "Timeout", "transient", 3),
                                           (501, "NotImplemented", "io", 1), (307, "Elsewhere", "io", 1)):
            with self.subTest(code=code, name=name):
                stub = self.stub()
                stub.faults = [Fault(status(code, name))]
                told = self.refused(stub, kind, "--attempts", "3", words=[str(code), name])
                self.assertEqual((told["status"], told["code"], told["attempts"]), (code, name, attempts))

    def test_range_that_no_longer_exists(self):
        stub = self.stub()
        stub.faults = [Fault(status(416, "InvalidRange", {"Content-Range": "bytes */12"}))]
        self.refused(stub, "changed", words=["12", str(SIZE)])
        stub.faults = [Fault(status(416, "InvalidRange", {"Content-Range": f"bytes */{SIZE}"}))]
        self.refused(stub, "format")

    def test_no_http(self):
        stub = self.stub()
        stub.faults = [Fault(raw(lambda r, b: b"SSH-2.0-OpenSSH_9.2\r\n" + bytes(1000)))]
        self.refused(stub, "io")
        stub.faults = [Fault(raw(lambda r, b: b"HTTP/1.1 206 X\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000) for i in range(200))))]
        self.refused(stub, "io", words=["64 KiB"])

    def test_delays_that_the_store_asks_for(self):
        stub = self.stub()
        stub.faults = [Fault(status(503, "ServerBusy", {"x-ms-retry-after-ms": "700"}), where=lambda r: r.first == 0, times=1)]
        self.read(stub)
        times = [r.time for r in stub.requests("get") if r.first == 0]
        self.assertGreaterEqual(times[1] - times[0], 0.68)

    def test_used_up_names_object_offset_and_reason(self):
        stub = self.stub()
        stub.faults = [Fault(cut(1000, False), where=lambda r: r.first >= 600000)]
        told = self.refused(stub, "transient", "--attempts", "4", "--depth", "1", words=["4 attempts"])
        self.assertEqual((told["first"], told["attempts"]), (604000, 4))

    def test_progress_makes_failures_forgotten(self):
        data = random.Random(1).randbytes(6 << 20)
        stub = self.stub(data)
        stub.faults = [Fault(raw(lambda r, b: head(r, b) + part(r, b)[:600_000]))]
        told = self.read(stub, "--chunk", str(6 << 20), "--attempts", "3", want=data)
        self.assertGreater(told["retries"], 8)

    def test_throttling_lowers_the_depth(self):
        stub = self.stub()
        stub.faults = [Fault(status(503, "ServerBusy"), times=3)]
        self.assertEqual(self.read(stub, "--depth", "8")["lowest_depth"], 4)

    def test_metadata_services_are_no_stores(self):
        for host in ("169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "0.0.0.0"):
            with self.subTest(host):
                env = {"AZURE_STORAGE_ANON": "1", "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
                       "AZURE_STORAGE_ENDPOINT": f"http://{host}/devaccount"}
                told, made = self.driver("pin", "az://c/m", "w", env=env)
                self.assertEqual(told.get("error"), "access", made)
                self.assertIn("metadata", told["message"])


class Transport(Driver):
    """What lies under the requests."""

    def tls(self, *, name="IP:127.0.0.1", before=None):
        """A stub behind TLS, and the file of the authority that signed for it."""
        stub = self.stub()
        certificate = behind_tls(stub, self.folder, name=name, version=before)
        return stub, certificate, self.environment_of(stub)

    def test_tls_is_verified(self):
        stub, certificate, env = self.tls()
        pin = ("pin", "az://c/m", "w")
        for good in ({}, {"CURL_CA_BUNDLE": str(certificate)}, {"SSL_CERT_FILE": str(certificate)}):
            told, made = self.driver(*pin, *(() if good else ("--ca", certificate)), env=env | good)
            self.assertEqual([o["size"] for o in told.get("objects", [])], [SIZE], made)
        told, made = self.driver(*pin, env=env)
        self.assertEqual(told.get("error"), "access", made)
        self.assertIn("ca_file", told["message"])
        told, made = self.driver(*pin, "--ca", self.folder / "absent.pem", env=env)
        self.assertIn(told.get("error"), ("usage", "access"), made)
        _, certificate, env = self.tls(name="DNS:other.example")
        told, made = self.driver(*pin, "--ca", certificate, env=env)
        self.assertEqual(told.get("error"), "access", made)

    def test_old_tls_is_refused(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, certificate, env = self.tls(before=ssl.TLSVersion.TLSv1_1)
        told, made = self.driver("pin", "az://c/m", "w", "--ca", certificate, "--base", "1", "--attempts", "2", env=env)
        self.assertIn(told.get("error"), ("transient", "access", "io"), made)

    def test_connections_are_used_again(self):
        stub = self.stub()
        ports = set()
        original = stub.server.process_request

        def count(request, address):
            ports.add(address)
            original(request, address)

        stub.server.process_request = count
        self.read(stub, "--chunk", "20000", "--depth", "3")
        self.assertLessEqual(len(ports), 1 + 3, "one for the HEAD, one for each read outstanding")
        self.assertEqual(len(stub.requests("get")), 75)

    def test_a_proxy_is_not_asked_for_this_machine(self):
        stub = self.stub()
        proxies = {name: "http://127.0.0.1:1" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY")}
        told, made = self.driver("pin", "az://c/m", "w", env=self.environment_of(stub) | proxies)
        self.assertIn("objects", told, made)

    def test_a_name_that_does_not_exist(self):
        env = {"AZURE_STORAGE_ANON": "1", "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
               "AZURE_STORAGE_ENDPOINT": "http://no-such-host.invalid/devaccount"}
        told, made = self.driver("pin", "az://c/m", "w", "--base", "1", env=env)
        self.assertEqual(told.get("error"), "transient", made)
        self.assertIn("no-such-host.invalid", told["message"])

    def test_names_are_resolved_before_the_load(self):
        stub = self.stub()
        name = socket.gethostname()  # a relay to the stub listens on the address of this machine's own name
        try:
            address = socket.gethostbyname(name)
        except OSError:
            name, address = "localhost", "127.0.0.1"
        relay = socket.create_server((address, 0))
        self.addCleanup(relay.close)

        def serve():
            while True:
                try:
                    client, peer = relay.accept()
                except OSError:
                    return
                stub.server.process_request(client, peer)

        threading.Thread(target=serve, daemon=True).start()
        env = self.environment_of(stub) | {"AZURE_STORAGE_ENDPOINT": f"http://{name}:{relay.getsockname()[1]}/devaccount"}
        told, made = self.driver("read", "az://c/m", "w", *QUICK, env=env)
        self.assertEqual(told.get("bytes"), SIZE, made)


class Cancels(Driver):
    def test_cancel_is_quick_and_nothing_is_written_after_it(self):
        def stall(handler, request, blob):
            handler.close_connection = True
            handler.wfile.write(head(request, blob) + part(request, blob)[:1000])
            for _ in range(100):
                if handler.server.owner.stopping.wait(0.01):
                    return
                handler.wfile.write(b"x" * 100)

        worst = 0
        for fault in (stall, say_nothing, status(503, "ServerBusy"), close()):
            stub = self.stub()
            stub.faults = [Fault(fault)]
            for wait in ("60", "133"):
                told, made = self.driver("read", "az://c/m", "w", *QUICK, "--base", "50", "--attempts", "1000", "--cancel", wait,
                                         env=self.environment_of(stub))
                self.assertIn("cancelled_ms", told, made)
                self.assertTrue(told["quiet"], made)
                worst = max(worst, told["cancelled_ms"])
        self.assertLess(worst, 100, "milliseconds")

    def test_wake_while_bytes_arrive(self):
        data = bytes(64 << 20)
        stub = self.stub(data)
        told, made = self.driver("read", "az://c/m", "w", "--chunk", "1000000", "--cancel", "20", env=self.environment_of(stub))
        self.assertNotIn("error", told, made)
        self.assertTrue(told.get("quiet", True), made)


class Listings(Driver):
    def test_pages_and_directories(self):
        stub = self.stub(b"abc", page=3, hierarchical=True)
        for n in range(7):
            stub.put(f"m/sub/file {n}", bytes(n))
        stub.put("m/folder", b"", resource_type="directory")
        stub.put("m/other", b"", metadata={"Hdi_isfolder": "True"})
        stub.put("m/mark/", b"")
        stub.put("m2/x", b"sibling")
        stub.put("m.txt", b"sibling")
        want = {"w": 3} | {f"sub/file {n}": n for n in range(7)}
        for uri in ("az://c/m", "az://c/m/"):
            told, made = self.driver("list", uri, env=self.environment_of(stub))
            self.assertEqual(told, {"files": want}, made)
        told, _ = self.driver("pin", "az://c/m", "w", "folder", "gone", env=self.environment_of(stub))
        self.assertEqual(told["error"], "not_found")
        self.assertIn("folder (a directory), gone", told["message"])

    def test_marker_that_comes_again(self):
        def page(handler, request, blob):
            text = b"<EnumerationResults><Blobs/><NextMarker>again</NextMarker></EnumerationResults>"
            handler.answer_head(request, 200, {"Content-Length": str(len(text))})
            handler.write(request, text)

        stub = self.stub()
        stub.faults = [Fault(page, "list")]
        told, made = self.driver("list", "az://c/m", env=self.environment_of(stub))
        self.assertEqual(told.get("error"), "io", made)
        self.assertEqual(len(stub.requests("list")), 2)

    def test_listing_that_is_too_large(self):
        def page(handler, request, blob):
            handler.close_connection = True
            handler.answer_head(request, 200, {})
            try:
                for _ in range(400):
                    handler.write(request, b"<!-- -->" * 10000)
            except OSError:
                pass

        stub = self.stub()
        stub.faults = [Fault(page, "list")]
        told, made = self.driver("list", "az://c/m", env=self.environment_of(stub))
        self.assertEqual(told.get("error"), "io", made)

    def test_many_objects_are_pinned_at_once(self):
        stub = self.stub()

        def slow(handler, request, blob):
            time.sleep(0.1)
            handler.answer_head(request, 200, handler.blob_headers(blob, request))

        names = [f"n{n}" for n in range(64)]
        for name in names:
            stub.put("m/" + name, name.encode())
        stub.faults = [Fault(slow, "head")]
        begin = time.monotonic()
        told, made = self.driver("pin", "az://c/m", *names, env=self.environment_of(stub))
        self.assertEqual([o["name"] for o in told["objects"]], ["az://c/m/" + n for n in names], made)
        self.assertLess(time.monotonic() - begin, 3, "64 answers of 0.1 s each, one after another, take 6.4 s")


if __name__ == "__main__":
    program.main()
