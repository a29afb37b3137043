"""Azure Storage's signatures, for uploading to an emulator and for checking what a client signs."""

import base64
import hashlib
import hmac
import urllib.parse

# The emulator's well-known account; its key is public.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2023-11-03"


def signature(key, text):
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


def shared_key(method, path, query, headers, account=ACCOUNT, key=KEY):
    """The signature of a request. `path` is as sent, percent-encoded; `query` is a list of decoded (name, value)."""
    lower = {name.lower(): value for name, value in headers.items()}
    length = lower.get("content-length", "")
    first = [
        method,
        lower.get("content-encoding", ""),
        lower.get("content-language", ""),
        "" if length == "0" else length,
        *(
            lower.get(h, "")
            for h in (
                "content-md5",
                "content-type",
                "date",
                "if-modified-since",
                "if-match",
                "if-none-match",
                "if-unmodified-since",
                "range",
            )
        ),
    ]
    own = "".join(
        f"{name}:{' '.join(value.split())}\n" for name, value in sorted(lower.items()) if name.startswith("x-ms-")
    )
    values = {}
    for name, value in query:
        values.setdefault(name.lower(), []).append(value)
    resource = f"/{account}{path}" + "".join(f"\n{name}:{','.join(sorted(values[name]))}" for name in sorted(values))
    return signature(key, "\n".join(first) + "\n" + own + resource)


def _query(fields):
    return "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in fields.items() if value)


def service_sas(
    container,
    *,
    permissions="rl",
    start="2020-01-01T00:00:00Z",
    expiry="2099-01-01T00:00:00Z",
    key=KEY,
    account=ACCOUNT,
):
    """A token for one container."""
    text = "\n".join(
        [
            permissions,
            start,
            expiry,
            f"/blob/{account}/{container}",
            "",
            "",
            "",
            VERSION,
            "c",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
        ]
    )
    return _query({"sv": VERSION, "st": start, "se": expiry, "sr": "c", "sp": permissions, "sig": signature(key, text)})


def account_sas(*, permissions="rl", expiry="2099-01-01T00:00:00Z", key=KEY, account=ACCOUNT):
    """A token for all containers."""
    fields = [account, permissions, "b", "sco", "", expiry, "", "", VERSION, ""]
    sig = signature(key, "".join(f + "\n" for f in fields))
    return _query({"sv": VERSION, "ss": "b", "srt": "sco", "sp": permissions, "se": expiry, "sig": sig})
