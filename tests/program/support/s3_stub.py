"""A store that speaks S3 and misbehaves on request, and the services that credentials come from."""

import hashlib
import hmac
import http.server
import json
import re
import threading
import urllib.parse
from xml.sax.saxutils import escape

from .blob_stub import BlobStub, Handler, Server

CODES = {  # of the blob server, in the other store's words
    "AuthenticationFailed": "SignatureDoesNotMatch",
    "ContainerNotFound": "NoSuchBucket",
    "BlobNotFound": "NoSuchKey",
    "ConditionNotMet": "PreconditionFailed",
}


def signature(method, path, query, headers, signed, secret, scope):
    """Signature Version 4, from a request as it was received. @source AWS, "Create a signed AWS API request" """
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    canonical = "\n".join(
        [
            method,
            path,
            "&".join(f"{name}={value}" for name, _, value in sorted(pairs)),
            *(f"{name}:{' '.join(headers[name].split())}" for name in signed),
            "",
            ";".join(signed),
            headers["x-amz-content-sha256"],
        ]
    )
    text = "\n".join(
        ["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = b"AWS4" + secret.encode()
    for part in (*scope, text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


class S3Handler(Handler):
    def allowed(self, stub, request):
        proof = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([\w-]+)/(\w+)/aws4_request, SignedHeaders=([\w;-]+), "
            r"Signature=([0-9a-f]{64})",
            request.headers.get("authorization", ""),
        )
        if not proof:
            return not stub.keys
        id, day, region, service, signed, given = proof.groups()
        secret, token = stub.keys.get(id, (None, None))
        must = {"host", *(name for name in request.headers if name in ("range", "if-match") or name.startswith("x-amz-"))}
        return (
            secret is not None
            and request.headers.get("x-amz-security-token") == token
            and must <= set(signed.split(";"))
            and region == stub.region
            and given
            == signature(
                request.method,
                request.path,
                request.query,
                request.headers,
                signed.split(";"),
                secret,
                (day, region, service, "aws4_request"),
            )
        )

    def answer_error(self, request, code, store_code, headers=()):
        store_code = CODES.get(store_code, store_code)
        text = (
            f"<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>{store_code}</Code><Message>No.</Message>"
            f"<Region>{self.server.owner.region}</Region></Error>"
        ).encode()
        headers = {"Content-Type": "application/xml", "Content-Length": str(len(text))} | dict(headers)
        self.answer_head(request, code, headers | {"x-amz-request-id": "0000000A"})
        if self.command != "HEAD":
            self.write(request, text)

    def answer_list(self, stub, request):
        prefix, token = request.value("prefix"), request.value("continuation-token")
        names = sorted(n for n in stub.blobs if n.startswith(prefix))
        start = int(token.removeprefix("1+/x=")) if token else 0
        text = ["<?xml version='1.0'?><ListBucketResult><EncodingType>url</EncodingType>"]
        for name in names[start : start + stub.page]:
            text.append(
                f"<Contents><Key>{escape(urllib.parse.quote_plus(name))}</Key>"
                f"<Size>{len(stub.blobs[name].data)}</Size></Contents>"
            )
        rest = start + stub.page
        more = rest < len(names)
        text.append(f"<IsTruncated>{str(more).lower()}</IsTruncated>")
        if more:
            text.append(f"<NextContinuationToken>1+/x={rest}</NextContinuationToken>")
        data = "".join([*text, "</ListBucketResult>"]).encode()
        self.answer_head(request, 200, {"Content-Type": "application/xml", "Content-Length": str(len(data))})
        self.write(request, data)


class S3Stub(BlobStub):
    """`keys`: {access key: (secret key, session token or None)}; none: everybody may."""

    handler = S3Handler

    def __init__(self, keys=(), region="us-east-1", page=1000, bucket="b"):
        super().__init__(root="", container=bucket, page=page)
        self.keys, self.region = dict(keys), region


class CredentialService:
    """A metadata service, a container's agent and a token service in one. `answers` by path, or by the action of a form:
    a text, or a function of (path, headers, form) that gives (status, text)."""

    def __init__(self):
        self.answers, self.log, self.lock = {}, [], threading.Lock()
        owner = self

        class OneHandler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def serve(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()))
                headers = {k.lower(): v for k, v in self.headers.items()}
                key = form.get("Action", self.path)
                with owner.lock:
                    owner.log.append((self.command, key, headers, form))
                answer = owner.answers.get(key, (404, ""))
                if callable(answer):
                    answer = answer(self.path, headers, form)
                status, text = answer if isinstance(answer, tuple) else (200, answer)
                self.send_response_only(status)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_PUT = do_POST = serve

        self.server = Server(("127.0.0.1", 0), OneHandler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def asked(self, key):
        with self.lock:
            return [entry for entry in self.log if entry[1] == key]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def keys_as_json(id, secret, token, expiration="2099-01-01T00:00:00Z"):
    return json.dumps(
        {"Code": "Success", "AccessKeyId": id, "SecretAccessKey": secret, "Token": token, "Expiration": expiration}
    )


def keys_as_xml(action, id, secret, token, expiration="2099-01-01T00:00:00Z"):
    return (
        f"<{action}Response xmlns='https://sts.amazonaws.com/doc/2011-06-15/'><{action}Result><Credentials>"
        f"<AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{token}</SessionToken>"
        f"<Expiration>{expiration}</Expiration></Credentials></{action}Result></{action}Response>"
    )
