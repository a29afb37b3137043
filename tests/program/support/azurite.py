"""A blob emulator in memory, on loopback."""

import email.utils
import http.client
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse

from .azure_auth import ACCOUNT, KEY, VERSION, shared_key


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Azurite:
    """Started by `start()`, ended by `stop()`."""

    account, key = ACCOUNT, KEY

    def __init__(self):
        command = shlex.split(os.environ.get("AZURITE", ""))
        if not command or not shutil.which(command[0]):
            raise AssertionError("no emulator: set AZURITE to the path of the azurite-blob command")
        self.command, self.process, self.log = command, None, None

    def start(self, within=90):
        for _ in range(3):
            self.port = free_port()
            self.log = tempfile.TemporaryFile()
            self.process = subprocess.Popen(
                [
                    *self.command,
                    "--blobHost",
                    "127.0.0.1",
                    "--blobPort",
                    str(self.port),
                    "--silent",
                    "--disableTelemetry",
                    "--inMemoryPersistence",
                    "--extentMemoryLimit",
                    "1024",
                ],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=subprocess.STDOUT,
            )
            until = time.monotonic() + within
            while time.monotonic() < until and self.process.poll() is None:
                try:
                    if self.request("GET", "", [("comp", "list")])[0] == 200:
                        return self
                except OSError:
                    pass
                time.sleep(0.1)
            self.log.seek(0)
            said = self.log.read()[-2000:]
            self.stop()
        raise AssertionError(f"the emulator did not start: {said}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None
        if self.log:
            self.log.close()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    @property
    def connection_string(self):
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={self.endpoint};"

    def request(self, method, path, query=(), headers=(), body=b""):
        """One signed request; `path` is container/blob, not encoded. Returns (status, body)."""
        wire = f"/{ACCOUNT}" + ("/" + urllib.parse.quote(path) if path else "")
        sent = {
            "x-ms-date": email.utils.formatdate(usegmt=True),
            "x-ms-version": VERSION,
            "Content-Length": str(len(body)),
        } | dict(headers)
        sent["Authorization"] = f"SharedKey {ACCOUNT}:{shared_key(method, wire, list(query), sent)}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, wire + ("?" + urllib.parse.urlencode(query) if query else ""), body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def create_container(self, name, public=False):
        headers = {"x-ms-blob-public-access": "container"} if public else {}
        status, body = self.request("PUT", name, [("restype", "container")], headers)
        if status != 201:
            raise AssertionError(f"container {name}: {status} {body[:500]}")

    def put(self, container, name, data):
        status, body = self.request("PUT", f"{container}/{name}", (), {"x-ms-blob-type": "BlockBlob"}, data)
        if status != 201:
            raise AssertionError(f"blob {name}: {status} {body[:500]}")

    def upload(self, container, prefix, folder):
        folder = pathlib.Path(folder)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(
                    container,
                    (
                        f"{prefix}/{file.relative_to(folder).as_posix()}"
                        if prefix
                        else file.relative_to(folder).as_posix()
                    ),
                    file.read_bytes(),
                )
