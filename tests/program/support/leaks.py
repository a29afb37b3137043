"""Looks for credentials in what a program left behind: what it printed, the files it wrote, their names."""

import base64
import binascii
import os
import re
import stat
import urllib.parse

SHORTEST = 6  # a shorter secret is found everywhere
MOST = 16 << 20  # of one file: what a program writes about itself is small
KEYS = (
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
)
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")
# What no output holds, whichever the secret is.
SIGNS = re.compile(
    rb"AWS4-HMAC-SHA256 |Signature=[0-9a-f]{16}|SharedKey(Lite)? [\w-]+:|Bearer [\w.-]{6}|[Aa]uthorization: *\S|sig=[\w%+/-]{6}"
)


def spellings(secret):
    """The bytes of a secret in every form in which it might be told."""
    texts = {secret, urllib.parse.unquote(secret)}
    texts |= {text.rstrip("=") for text in texts}
    found = {text.encode() for text in texts}
    for text in texts:
        for quoted in (urllib.parse.quote(text, safe=""), urllib.parse.quote(text), urllib.parse.quote_plus(text)):
            lower = re.sub("%..", lambda escape: escape[0].lower(), quoted)
            found |= {quoted.encode(), lower.encode(), urllib.parse.quote(quoted, safe="").encode()}
        found |= {text.replace("/", "\\/").encode(), base64.b64encode(text.encode())}
        found.add(text.replace("+", "-").replace("/", "_").encode())
        try:
            decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        if len(decoded) >= 2 * SHORTEST:
            found |= {decoded, decoded.hex().encode(), decoded.hex().upper().encode()}
    return {form for form in found if len(form) >= SHORTEST}


def secrets_of(environment, arguments=()):
    """The secrets that a program was given."""

    def signature(text):
        return re.findall(r"(?:^|[?&;])sig=([^&;\s]+)", text)

    secrets = [environment[name] for name in KEYS if name in environment]
    secrets += signature("&" + environment.get("AZURE_STORAGE_SAS_TOKEN", ""))
    connection = environment.get("AZURE_STORAGE_CONNECTION_STRING", "")
    secrets += [connection, *re.findall("AccountKey=([^;]+)", connection), *signature(connection)]
    for text in (*(environment.get(name, "") for name in PROXIES), *map(str, arguments)):
        secrets += signature(text) + re.findall(r"://[^/@]*:([^/@]+)@", text)
    return [secret for secret in secrets if len(secret) >= SHORTEST]


def files_since(folder, start):
    """(path, content) of each file below `folder` that was written since `start`, in ns."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                about = os.lstat(path)
                if not stat.S_ISREG(about.st_mode) or about.st_mtime_ns < start:
                    continue
                with open(path, "rb") as file:
                    yield path, file.read(min(MOST, about.st_blocks * 512))
            except OSError:
                continue  # another run's, and gone


def find(secrets, texts):
    """Where a secret, or what looks like one, stands: ["stderr holds ...", ...]. `texts` are (name, bytes)."""
    forms = {form for secret in secrets for form in spellings(secret)}
    found = []
    for name, text in texts:
        for place, content in ((name, text), (f"the name {name}", os.fsencode(name))):
            if any(form in content for form in forms):
                found.append(f"{place} holds a credential")
            elif SIGNS.search(content):
                found.append(f"{place} holds what looks like one")
    return found


def open_to_others(folder):
    """What in a cache others may look at."""
    wrong = []
    for parent, folders, files in os.walk(folder):
        for names, mode in ((folders + ["."], 0o700), (files, 0o600)):
            for name in names:
                path = os.path.normpath(os.path.join(parent, name))
                try:
                    found = stat.S_IMODE(os.lstat(path).st_mode)
                except OSError:
                    continue
                if found != mode:
                    wrong.append(f"{path} has mode {found:o}")
    return wrong
