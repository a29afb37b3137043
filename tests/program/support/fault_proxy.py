"""An HTTP/1.1 proxy on loopback, in front of any store, that does something wrong with chosen requests.

The Host header stays the client's, so signatures hold. A load's requests are told apart by their point: see `point_of`.
"""

import http.client
import http.server
import select
import socket
import struct
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

GUESS = 64 << 10  # the first request for a shard ends here, where the shard is that long
POINTS = ("list", "pin_index", "index", "pin_shard", "header", "body", "pin_file", "file")


@dataclass
class Answer:
    """What the store said, whole."""

    status: int
    reason: str
    headers: list  # pairs
    body: bytes

    def head(self):
        lines = [f"HTTP/1.1 {self.status} {self.reason}"] + [f"{name}: {value}" for name, value in self.headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def drop(self, name):
        self.headers = [h for h in self.headers if h[0].lower() != name.lower()]
        return self

    def get(self, name):
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    def put(self, name, value):
        self.drop(name).headers.append((name, str(value)))
        return self

    def add(self, name, value):
        self.headers.append((name, str(value)))
        return self


@dataclass
class Rule:
    """Which requests of a load something happens to: those of `point`, after `skip` of them, `times` of them."""

    do: callable  # (client, answer)
    point: str = "body"
    skip: int = 0
    times: float = float("inf")
    without_store: bool = False  # the store is not asked
    hits: int = 0

    def takes(self, point):
        if self.point not in ("any", point):
            return False
        self.hits += 1
        return self.skip < self.hits <= self.skip + self.times


@dataclass
class Seen:
    method: str
    target: str
    point: str
    range: str
    faulty: bool
    time: float = field(default_factory=time.monotonic)


class Client(http.server.BaseHTTPRequestHandler):
    """One connection of the client, and the store's that belongs to it."""

    protocol_version = "HTTP/1.1"
    wbufsize = 0
    store = None

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.forward()

    def do_HEAD(self):
        self.forward()

    def finish(self):
        if self.store:
            self.store.close()
        super().finish()

    def forward(self):
        try:
            seen, rule = self.server.owner.see(self)
            if not seen:
                self.close_connection = True
            elif not rule:
                self.give(self.ask())
            else:
                rule.do(self, None if rule.without_store else self.ask())
        except (OSError, http.client.HTTPException):
            self.close_connection = True

    def is_gone(self):
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return not socket.socket.recv(self.connection, 1, socket.MSG_PEEK)
        except OSError:
            return True

    def ask(self, without=()):
        """The store's answer to this request."""
        for attempt in range(2):  # a connection that was kept may be gone
            self.store = self.store or http.client.HTTPConnection(*self.server.owner.store, timeout=60)
            try:
                self.store.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in without:
                        self.store.putheader(name, value)
                self.store.endheaders()
                told = self.store.getresponse()
                answer = Answer(told.status, told.reason, list(told.headers.items()), told.read())
                break
            except (OSError, http.client.HTTPException):
                self.store.close()
                self.store = None
                if attempt:
                    raise
        if answer.get("Transfer-Encoding"):
            answer.drop("Transfer-Encoding").put("Content-Length", len(answer.body))
        return answer.drop("Connection").drop("Keep-Alive")

    # What faults are made of.

    def send(self, data):
        self.wfile.write(data)

    def give(self, answer):
        self.send(answer.head() + (b"" if self.command == "HEAD" else answer.body))

    def shut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def reset(self):
        time.sleep(0.003)  # a reset throws away what the client has not taken
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def hold(self, seconds=60):
        """Says nothing until the client leaves."""
        self.close_connection = True
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.server.owner.stopping.is_set():
            if select.select([self.connection], [], [], 0.02)[0] and not self.connection.recv(65536):
                return


def point_of(method, target, headers, seen):
    """Which step of a load a request belongs to; `seen`: the points of those before it."""
    path, _, query = target.partition("?")
    if "comp=list" in query or "list-type=2" in query:
        return "list"
    name = urllib.parse.unquote(path)
    if name.endswith(".safetensors"):
        if method == "HEAD":
            return "pin_shard"
        return "header" if (headers.get("Range") or "").endswith(f"-{GUESS - 1}") else "body"
    kind = "index" if name.endswith(".index.json") else "file"
    if method == "HEAD":
        return "pin_file" if kind == "file" or "index" in seen else "pin_index"
    return "file" if kind == "file" or "header" in seen else "index"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 8

    def get_request(self):
        while self.owner.deaf.is_set() and not self.owner.stopping.is_set():
            time.sleep(0.005)
        return super().get_request()

    def handle_error(self, request, client_address):
        pass


class FaultProxy:
    """In front of the server at `store`, a host and a port. `begin(*rules)` before each load.

    While `deaf` is set no connection is taken: the system takes a few, and with TLS nobody shakes their hands.
    """

    def __init__(self, store, tls=None):
        self.store, self.deaf, self.fillers = store, threading.Event(), []
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self.rules, self.log = [], []
        self.server = Server(("127.0.0.1", 0), Client)
        self.server.owner = self
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def become_deaf(self, full):
        """@param full  not even the system takes another connection"""
        self.deaf.set()
        for _ in range(3 * Server.request_queue_size if full else 0):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self.fillers.append(filler)

    @property
    def port(self):
        return self.server.server_address[1]

    def begin(self, *rules):
        for filler in self.fillers:
            filler.close()
        self.fillers = []
        self.deaf.clear()
        with self.lock:
            self.rules, self.log = list(rules), []

    def see(self, client):
        """@returns whether it counts, and the rule that takes it"""
        with self.lock:
            if client.is_gone():  # of a load that has ended: it does not count for the next
                return False, None
            point = point_of(client.command, client.path, client.headers, {s.point for s in self.log})
            rule = next((r for r in self.rules if r.takes(point)), None)
            asked = client.headers.get("Range") or ""
            self.log.append(Seen(client.command, client.path, point, asked, rule is not None))
            return True, rule

    def count(self, point):
        with self.lock:
            return sum(s.point == point for s in self.log)

    def stop(self):
        self.begin()
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
