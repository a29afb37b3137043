"""What can go wrong with an answer, for FaultProxy. Each fault is made with a source of randomness."""

import random
import re
import time

from .fault_proxy import Answer, Rule


def at_random(answer, seed):
    return seed.randrange(len(answer.body)) if answer.body else 0


def edited(change):
    """The answer with another head."""

    def make(seed):
        def do(client, answer):
            change(answer, seed)
            client.give(answer)
            client.close_connection = True

        return do

    return make


def cut(seed):
    def do(client, answer):
        client.send(answer.head() + (b"" if client.command == "HEAD" else answer.body[: at_random(answer, seed)]))
        client.shut()

    return do


def cut_in_head(seed):
    def do(client, answer):
        head = answer.head()
        client.send(head[: seed.randrange(len(head) - 3)])
        client.shut()

    return do


def reset(seed):
    def do(client, answer):
        client.send(answer.head() + (b"" if client.command == "HEAD" else answer.body[: at_random(answer, seed)]))
        client.reset()

    return do


def refuse(seed):
    how = seed.random()
    return lambda client, answer: client.shut() if how < 0.5 else client.reset()


def silence(seed):
    return lambda client, answer: client.hold()


def stall(seed):
    def do(client, answer):
        client.send(answer.head() + (b"" if client.command == "HEAD" else answer.body[: at_random(answer, seed)]))
        client.hold()

    return do


def trickle(seed):
    """Slower than any store may be."""

    def do(client, answer):
        client.send(answer.head())
        for n in range(0 if client.command == "HEAD" else len(answer.body)):
            client.send(answer.body[n : n + 1])
            time.sleep(0.02)

    return do


def drip(seed):
    """In small parts, and fast enough."""

    def do(client, answer):
        client.send(answer.head())
        size = max(1, len(answer.body) // 12)
        for n in range(0, 0 if client.command == "HEAD" else len(answer.body), size):
            time.sleep(0.002)
            client.send(answer.body[n : n + size])

    return do


def late(seed):
    """A slow first byte, in time."""

    def do(client, answer):
        time.sleep(0.02 + 0.06 * seed.random())
        client.give(answer)

    return do


def status(code, name):
    def make(seed):
        def do(client, answer):
            text = f"<?xml version='1.0'?><Error><Code>{name}</Code></Error>".encode()
            client.give(Answer(code, "X", [("x-ms-error-code", name), ("Content-Length", len(text))], text))

        return do

    return make


def length_short(answer, seed):
    answer.put("Content-Length", max(1, int(answer.get("Content-Length") or 2) // 2))


def length_long(answer, seed):
    answer.put("Content-Length", int(answer.get("Content-Length") or 0) + seed.randint(1, 1000))


def length_twice(answer, seed):
    answer.add("Content-Length", int(answer.get("Content-Length") or 0) + 1)


def all_twice(answer, seed):
    answer.headers = [h for h in answer.headers for _ in range(2)]


def range_shifted(answer, seed):
    if value := answer.get("Content-Range"):
        first, last, total = map(int, re.findall(r"\d+", value))
        by = seed.choice([-1, 1]) if last + 1 < total else -1
        answer.put("Content-Range", f"bytes {max(0, first + by)}-{last + by}/{total}")


def range_missing(answer, seed):
    answer.drop("Content-Range")


def range_total(answer, seed):
    if value := answer.get("Content-Range"):
        answer.put("Content-Range", re.sub(r"/(\d+)$", lambda m: f"/{int(m[1]) + 1}", value))


def etag_other(answer, seed):
    answer.put("ETag", f'"0x{seed.randrange(1 << 60):015X}"')


def etag_missing(answer, seed):
    answer.drop("ETag")


def etag_twice(answer, seed):
    answer.add("ETag", '"0xOTHER"')


def encoded(answer, seed):
    answer.put("Content-Encoding", "gzip")


def without_length(seed):
    """Ends with the connection."""

    def do(client, answer):
        client.give(answer.drop("Content-Length").put("Connection", "close"))
        client.shut()

    return do


def chunks(data, seed):
    out, at = b"", 0
    while at < len(data):
        size = seed.randint(1, 5000)
        part = data[at : at + size]
        out += b"%x\r\n" % len(part) + part + b"\r\n"
        at += size
    return out + b"0\r\n\r\n"


def in_chunks(more):
    def make(seed):
        def do(client, answer):
            if client.command == "HEAD":
                return client.give(answer)
            client.send(answer.drop("Content-Length").put("Transfer-Encoding", "chunked").head())
            client.send(chunks(answer.body + more, seed))
            client.close_connection = True

        return do

    return make


def whole(seed):
    """The object in place of a range."""

    def do(client, answer):
        client.give(client.ask(without=("range", "x-ms-range")))
        client.close_connection = True

    return do


def junk(seed):
    noise = seed.randbytes(300).replace(b"HTTP", b"")
    text = seed.choice([b"SSH-2.0-OpenSSH_9.2\r\n", bytes(100), noise, b"220 ready\r\n"])

    def do(client, answer):
        client.send(text)
        client.shut()

    return do


def huge_head(seed):
    def do(client, answer):
        for n in range(100):
            answer.add(f"X-{n}", "y" * 1000)
        client.give(answer)
        client.close_connection = True

    return do


def early_hints(seed):
    def do(client, answer):
        client.send(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\nETag: "x"\r\n\r\n')
        client.give(answer)

    return do


def closes(seed):
    """Does not keep the connection and does not say so."""

    def do(client, answer):
        client.give(answer)
        client.shut()

    return do


WITHOUT_STORE = {refuse, silence}


def rule(make, seed, point, skip=0, times=float("inf")):
    return Rule(make(seed), point, skip, times, without_store=make in WITHOUT_STORE)


def source(seed):
    return random.Random(seed)
