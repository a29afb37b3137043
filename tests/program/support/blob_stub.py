"""A blob server that misbehaves on request. It speaks what a reader needs: list, properties, ranged reads."""

import http.server
import re
import socket
import struct
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from .azure_auth import shared_key

MODIFIED = "Fri, 26 Jun 2015 23:39:12 GMT"


@dataclass
class Blob:
    data: bytes
    etag: str
    resource_type: str = "file"
    metadata: dict = field(default_factory=dict)


@dataclass
class Request:
    """One line of the server's log."""

    method: str
    path: str  # as received, without query
    query: str  # as received
    headers: dict  # names in lower case
    op: str = "other"  # list, head, get
    name: str = ""  # of the blob, decoded
    first: int = None  # of the range; None: the whole
    last: int = None
    status: int = 0
    sent: int = 0  # bytes of the body
    time: float = 0.0

    def value(self, name):
        """A query parameter, decoded as servers do it: a bare plus is a space."""
        return dict(urllib.parse.parse_qsl(self.query, keep_blank_values=True)).get(name, "")


@dataclass
class Fault:
    """What goes wrong, with which requests, and how often."""

    do: callable  # (handler, request, blob or None); gives the answer itself
    op: str = "get"
    name: str = ""  # a regular expression for the blob's name
    where: callable = None  # further condition on the request
    times: float = float("inf")
    skip: int = 0  # so many matching requests are answered as usual first
    hits: int = 0

    def takes(self, request):
        if request.op != self.op and self.op != "any" or not re.search(self.name, request.name):
            return False
        if self.where and not self.where(request):
            return False
        self.hits += 1
        return self.skip < self.hits <= self.skip + self.times


# What a fault can do.


def status(code, store_code, headers=()):
    return lambda handler, request, blob: handler.answer_error(request, code, store_code, dict(headers))


def close():
    def do(handler, request, blob):
        handler.close_connection = True

    return do


def say_nothing(handler, request, blob):
    """Holds the connection and never answers."""
    handler.server.owner.stopping.wait(600)
    handler.close_connection = True


def cut(after, reset):
    """The right head, `after` bytes of the body, then the end: a reset, or an orderly close."""

    def do(handler, request, blob):
        data = handler.ranged(request, blob)
        handler.answer_head(request, 206, handler.blob_headers(blob, request))
        handler.write(request, data[:after])
        time.sleep(0.5)  # so that the client has taken these bytes: a reset throws away what it has not
        if reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True
        handler.connection.close() if reset else handler.connection.shutdown(socket.SHUT_RDWR)

    return do


def with_headers(change, code=206, body=None):
    """The right answer, except for its head: `change(headers, request, blob)` edits it; `body(data)` the body."""

    def do(handler, request, blob):
        headers = handler.blob_headers(blob, request)
        data = handler.ranged(request, blob) if request.first is not None else blob.data
        data = body(data, blob) if body else data
        headers["Content-Length"] = str(len(data))
        change(headers, request, blob)
        handler.answer_head(request, code, headers)
        if request.method != "HEAD":
            handler.write(request, data)
        handler.close_connection = True

    return do


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.serve()

    def do_GET(self):
        self.serve()

    def serve(self):
        stub = self.server.owner
        path, _, query = self.path.partition("?")
        request = Request(
            self.command, path, query, {k.lower(): v for k, v in self.headers.items()}, time=time.monotonic()
        )
        with stub.lock:
            stub.log.append(request)
        try:
            self.serve_one(stub, request)
        except (BrokenPipeError, ConnectionResetError, OSError):
            self.close_connection = True

    def serve_one(self, stub, request):
        if not request.path.startswith(stub.root + "/") and request.path != stub.root:
            return self.answer_error(request, 400, "InvalidUri")
        container, _, name = request.path[len(stub.root) + 1 :].partition("/")
        request.name = urllib.parse.unquote(name)
        request.op = "list" if not name else "head" if self.command == "HEAD" else "get"
        wanted = re.fullmatch(
            r"bytes=(\d+)-(\d*)", request.headers.get("x-ms-range") or request.headers.get("range") or ""
        )
        blob = stub.blobs.get(request.name)
        if wanted:
            request.first = int(wanted[1])
            end = len(blob.data) - 1 if blob else request.first
            request.last = min(int(wanted[2]), end) if wanted[2] else end
        with stub.lock:
            fault = next((f for f in stub.faults if f.takes(request)), None)
        if fault:
            return fault.do(self, request, blob)
        if not self.allowed(stub, request):
            return self.answer_error(request, 403, "AuthenticationFailed")
        if container != stub.container:
            return self.answer_error(request, 404, "ContainerNotFound")
        if request.op == "list":
            return self.answer_list(stub, request)
        if blob is None:
            return self.answer_error(request, 404, "BlobNotFound")
        condition = request.headers.get("if-match")
        if condition not in (None, "*", f'"{blob.etag}"'):
            return self.answer_error(request, 412, "ConditionNotMet")
        if request.first is not None and not request.first <= request.last < len(blob.data):
            return self.answer_error(request, 416, "InvalidRange", {"Content-Range": f"bytes */{len(blob.data)}"})
        self.answer_head(request, 200 if request.first is None else 206, self.blob_headers(blob, request))
        if self.command != "HEAD":
            self.write(request, self.ranged(request, blob))

    def allowed(self, stub, request):
        if stub.sas is not None:
            return stub.sas in request.query
        if stub.key is not None:
            query = urllib.parse.parse_qsl(request.query, keep_blank_values=True)
            want = shared_key(request.method, request.path, query, request.headers, stub.account, stub.key)
            return request.headers.get("authorization") == f"SharedKey {stub.account}:{want}"
        return True

    def ranged(self, request, blob):
        return blob.data if request.first is None else blob.data[request.first : request.last + 1]

    def blob_headers(self, blob, request):
        headers = {
            "ETag": f'"{blob.etag}"',
            "Last-Modified": MODIFIED,
            "x-ms-blob-type": "BlockBlob",
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
            "x-ms-version": "2023-11-03",
        }
        headers |= {f"x-ms-meta-{name}": value for name, value in blob.metadata.items()}
        if blob.resource_type != "file":
            headers["x-ms-resource-type"] = blob.resource_type
        size = len(blob.data)
        if request.first is None:
            headers["Content-Length"] = str(size)
        else:
            headers["Content-Length"] = str(request.last - request.first + 1)
            headers["Content-Range"] = f"bytes {request.first}-{request.last}/{size}"
        return headers

    def answer_head(self, request, code, headers):
        request.status = code
        self.send_response_only(code)
        for name, value in ({"x-ms-request-id": "00000000-0000-0000-0000-00000000000a"} | headers).items():
            self.send_header(name, value)
        self.end_headers()

    def write(self, request, data):
        view = memoryview(data)
        while view:  # in parts, so that a cancelled client is noticed
            self.wfile.write(view[: 1 << 20])
            request.sent += min(len(view), 1 << 20)
            view = view[1 << 20 :]

    def answer_error(self, request, code, store_code, headers=()):
        text = (
            f'\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>{store_code}</Code><Message>The server says no.'
            f"\nRequestId:00000000-0000-0000-0000-00000000000a</Message></Error>"
        ).encode()
        self.answer_head(
            request,
            code,
            {"x-ms-error-code": store_code, "Content-Type": "application/xml", "Content-Length": str(len(text))}
            | dict(headers),
        )
        if self.command != "HEAD":
            self.write(request, text)

    def answer_list(self, stub, request):
        prefix, delimiter = request.value("prefix"), request.value("delimiter")
        most = min(int(request.value("maxresults") or 5000), stub.page)
        marker = request.value("marker")
        start = 0
        if marker:
            found = re.fullmatch(r"2!64!a\+b/(\d+)==", marker)
            if not found:
                return self.answer_error(request, 400, "InvalidQueryParameterValue")
            start = int(found[1])
        entries = []
        for name in sorted(n for n in stub.blobs if n.startswith(prefix)):
            folder, found, _ = name[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            entry = ("prefix", prefix + folder + delimiter) if found else ("blob", name)
            if not entries or entries[-1] != entry:
                entries.append(entry)
        text = [
            '\ufeff<?xml version="1.0" encoding="utf-8"?>'
            f'<EnumerationResults ServiceEndpoint="{stub.endpoint}" ContainerName="{stub.container}"><Blobs>'
        ]
        for kind, name in entries[start : start + most]:
            if kind == "prefix":
                text.append(f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>")
                continue
            blob = stub.blobs[name]
            resource = f"<ResourceType>{blob.resource_type}</ResourceType>" if stub.hierarchical else ""
            metadata = ""
            if "metadata" in request.value("include"):
                metadata = (
                    "<Metadata>" + "".join(f"<{k}>{escape(v)}</{k}>" for k, v in blob.metadata.items()) + "</Metadata>"
                )
            text.append(
                f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{MODIFIED}</Last-Modified>"
                f"<Etag>{blob.etag}</Etag>"
                f"{resource}<Content-Length>{len(blob.data)}</Content-Length>"
                f"<Content-Type>application/octet-stream</Content-Type>"
                f"<BlobType>BlockBlob</BlobType></Properties>{metadata}</Blob>"
            )
        rest = start + most
        text.append(
            f"</Blobs><NextMarker>{f'2!64!a+b/{rest}==' if rest < len(entries) else ''}</NextMarker></EnumerationResults>"
        )
        data = "".join(text).encode()
        self.answer_head(request, 200, {"Content-Type": "application/xml", "Content-Length": str(len(data))})
        self.write(request, data)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


class BlobStub:
    """`blobs` by name in one container; `faults`, the first that takes a request answers it; `log` of all requests."""

    scheme, handler = "http", Handler

    def __init__(
        self,
        *,
        root="/devaccount",
        container="c",
        sas=None,
        account="devaccount",
        key=None,
        page=5000,
        hierarchical=False,
    ):
        self.root, self.container, self.sas, self.account, self.key = root, container, sas, account, key
        self.page, self.hierarchical = page, hierarchical
        self.blobs, self.faults, self.log, self.lock = {}, [], [], threading.Lock()
        self.stopping = threading.Event()
        self.server = Server(("127.0.0.1", 0), self.handler)
        self.server.owner = self
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def endpoint(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}{self.root}"

    def put(self, name, data, **more):
        self.blobs[name] = Blob(data, f"0x8D{len(self.blobs):04X}{sum(data) & 0xffffff:06X}", **more)

    def put_folder(self, prefix, folder):
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(prefix + file.relative_to(folder).as_posix(), file.read_bytes())

    def requests(self, op=None, name=""):
        with self.lock:
            return [r for r in self.log if op in (None, r.op) and re.search(name, r.name)]

    def stop(self):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
