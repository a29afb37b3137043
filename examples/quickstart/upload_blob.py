#!/usr/bin/env python3
"""Puts files into Azure Blob Storage, or into Azurite, with nothing but Python's standard library.

    upload_blob.py FOLDER CONTAINER [PREFIX]    every file below FOLDER becomes the blob PREFIX/its path
    upload_blob.py FILE CONTAINER BLOB          one file
    upload_blob.py --wait SECONDS               waits until the store answers

The account comes from AZURE_STORAGE_CONNECTION_STRING (AccountName, AccountKey, BlobEndpoint). The container is made if
it is not there. As a module: `Account(connection_string).put_blob(container, name, data)`.
"""

import base64
import email.utils
import hashlib
import hmac
import http.client
import os
import sys
import time
import urllib.parse
from pathlib import Path

VERSION = "2023-11-03"


class StoreError(Exception):
    """The store answered with something else than success."""

    def __init__(self, status, code, what):
        super().__init__(f"{what}: HTTP {status} {code}")
        self.status = status


class Account:
    """A storage account that signs its requests with its key."""

    def __init__(self, connection_string):
        parts = dict(p.split("=", 1) for p in connection_string.strip().split(";") if p)
        missing = [k for k in ("AccountName", "AccountKey") if not parts.get(k)]
        if missing:
            raise ValueError(f"the connection string lacks {' and '.join(missing)}")
        self.name = parts["AccountName"]
        self.key = base64.b64decode(parts["AccountKey"])
        protocol = parts.get("DefaultEndpointsProtocol", "https")
        suffix = parts.get("EndpointSuffix", "core.windows.net")
        self.endpoint = urllib.parse.urlsplit(parts.get("BlobEndpoint") or f"{protocol}://{self.name}.blob.{suffix}")

    def signature(self, verb, path, query, headers):
        """Shared key: an HMAC over the verb, the standard headers, the x-ms headers and the resource."""
        lower = {k.lower(): v.strip() for k, v in headers.items()}
        length = lower.get("content-length", "")
        standard = ["content-encoding", "content-language", None, "content-md5", "content-type", "date",
                    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]
        lines = [verb] + [("" if length == "0" else length) if k is None else lower.get(k, "") for k in standard]
        lines += [f"{k}:{lower[k]}" for k in sorted(lower) if k.startswith("x-ms-")]
        resource = f"/{self.name}{path}" + "".join(f"\n{k.lower()}:{query[k]}" for k in sorted(query))
        text = "\n".join(lines) + "\n" + resource
        return base64.b64encode(hmac.new(self.key, text.encode(), hashlib.sha256).digest()).decode()

    def request(self, verb, path, query=None, headers=None, body=None, length=0):
        """One signed request; `path` begins behind the endpoint. Gives the status, the headers and the body."""
        query = query or {}
        whole = self.endpoint.path.rstrip("/") + urllib.parse.quote(path, safe="/~")
        headers = {"x-ms-version": VERSION, "x-ms-date": email.utils.formatdate(usegmt=True),
                   "Content-Length": str(length), **(headers or {})}
        headers["Authorization"] = f"SharedKey {self.name}:{self.signature(verb, whole, query, headers)}"
        kind = http.client.HTTPSConnection if self.endpoint.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.endpoint.hostname, self.endpoint.port, timeout=300)
        try:
            target = whole + ("?" + urllib.parse.urlencode(query) if query else "")
            connection.request(verb, target, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def make_container(self, container):
        status, headers, _ = self.request("PUT", f"/{container}", {"restype": "container"})
        if status not in (201, 409):  # 409: it is there already
            raise StoreError(status, headers.get("x-ms-error-code", ""), f"cannot make the container {container}")

    def put_blob(self, container, name, data):
        """Writes a whole blob; `data` is bytes, or a binary file from its beginning to its end."""
        length = len(data) if isinstance(data, bytes) else os.fstat(data.fileno()).st_size
        headers = {"x-ms-blob-type": "BlockBlob", "Content-Type": "application/octet-stream"}
        status, headers, _ = self.request("PUT", f"/{container}/{name}", None, headers, data, length)
        if status != 201:
            raise StoreError(status, headers.get("x-ms-error-code", ""), f"cannot write {container}/{name}")

    def wait(self, seconds):
        """Waits until the store answers at all."""
        end = time.monotonic() + seconds
        while True:
            try:
                self.request("GET", "/", {"comp": "list"})
                return
            except (OSError, http.client.HTTPException) as e:
                if time.monotonic() > end:
                    raise StoreError("none", e, f"nothing answers at {self.endpoint.geturl()}") from e
                time.sleep(0.1)


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    if "AZURE_STORAGE_CONNECTION_STRING" not in os.environ:
        sys.exit("upload_blob: expected the account in AZURE_STORAGE_CONNECTION_STRING, which is not set")
    try:
        account = Account(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
        if arguments[0] == "--wait":
            account.wait(float(arguments[1]))
            return
        source, container, name = Path(arguments[0]), arguments[1], "".join(arguments[2:]).strip("/")
        if source.is_dir():
            files = {"/".join(filter(None, (name, p.relative_to(source).as_posix()))): p
                     for p in sorted(source.rglob("*")) if p.is_file()}
        else:
            files = {name or source.name: source}
        account.make_container(container)
        for blob, path in files.items():
            with open(path, "rb") as f:
                account.put_blob(container, blob, f)
            print(f"  {container}/{blob}: {path.stat().st_size:,} bytes")
    except (StoreError, OSError, http.client.HTTPException, ValueError) as e:
        sys.exit(f"upload_blob: {e}")


if __name__ == "__main__":
    main()
