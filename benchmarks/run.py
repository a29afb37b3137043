#!/usr/bin/env python3
"""One benchmark with what it needs: a file in memory, nginx, an emulator.

    run.py alone|local|http_lane|azure|compile_time [--build FOLDER] [--rounds N] [--json FILE]

FOLDER is a build with the benchmarks in it (see README.md); compile_time needs none."""

import argparse
import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "program"))
from support.azure_auth import ACCOUNT, account_sas  # noqa: E402
from support.azurite import Azurite, free_port  # noqa: E402

MIB = 1 << 20


@contextlib.contextmanager
def file_in_memory(size):
    """A file of `size` random bytes in a tmpfs."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder) / "object"
        with path.open("wb") as f:
            for _ in range(size // MIB):
                f.write(os.urandom(MIB))
        yield path


@contextlib.contextmanager
def nginx(folder):
    """Serves `folder` on loopback. Yields the URL."""
    command = shutil.which("nginx", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin")
    if not command:
        sys.exit("expected nginx, found none: install it")
    with tempfile.TemporaryDirectory() as scratch:
        port = free_port()
        temp = "".join(
            f"{kind}_temp_path {scratch}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;" if os.geteuid() == 0 else ""
        config = pathlib.Path(scratch) / "nginx.conf"
        config.write_text(
            f"daemon off; {user} worker_processes 1; pid {scratch}/pid; error_log {scratch}/error;\n"
            "events { worker_connections 256; }\n"
            f"http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; {temp}\n"
            f"server {{ listen 127.0.0.1:{port}; root {folder}; etag on; }} }}\n"
        )
        server = subprocess.Popen([command, "-c", str(config), "-e", f"{scratch}/error"])
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(100):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}/object", timeout=5).close()
                    break
                time.sleep(0.05)
            yield url
        finally:
            server.terminate()
            server.wait(10)


def run_alone(program):
    program("executor_alone")


def run_local(program):
    # Short runs: on a busy machine some of many are left alone, none of a few long ones.
    with file_in_memory(128 * MIB) as path:
        program("executor_local", str(path))


def run_http_lane(program):
    size = 128 * MIB
    with file_in_memory(size) as path, nginx(path.parent) as url:
        program("http_lane", f"{url}/object", str(size))


def run_azure(program):
    if "AZURITE" not in os.environ:
        os.environ["AZURITE"] = shlex.quote(shutil.which("azurite-blob") or "")
    server = Azurite().start()
    try:
        server.create_container("models")
        server.put("models", "object", os.urandom(128 * MIB))
        sas = account_sas()
        shown = f"{server.endpoint}/models/object?{sas}"
        end = f"BlobEndpoint={server.endpoint};AccountName={ACCOUNT};"
        for how, connection in (
            ("SAS", f"{end}SharedAccessSignature={sas}"),
            ("shared key", server.connection_string),
        ):
            print(f"the load's credential: {how}", flush=True)
            program("http_azure", "az://models", "object", shown, AZURE_STORAGE_CONNECTION_STRING=connection)
    finally:
        server.stop()


def main():
    wanted = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted.add_argument("what", choices=["alone", "local", "http_lane", "azure", "compile_time"])
    wanted.add_argument("--build", type=pathlib.Path)
    wanted.add_argument("--rounds")
    wanted.add_argument("--json")
    wanted = wanted.parse_args()
    options = [
        word for name in ("rounds", "json") if getattr(wanted, name) for word in (f"--{name}", getattr(wanted, name))
    ]
    if wanted.what == "compile_time":
        sys.exit(subprocess.call([sys.executable, "-B", str(HERE / "compile_time.py"), *options]))
    if not wanted.build:
        sys.exit("expected --build FOLDER, a build with -DPENSTOCK_BENCHMARKS=ON")

    def program(name, *arguments, **environment):
        path = wanted.build / f"benchmark_{name}"
        if not path.exists():
            sys.exit(f"expected {path}: build it with -DPENSTOCK_BENCHMARKS=ON")
        subprocess.run([path, *arguments, *options], check=True, env=os.environ | environment)

    globals()[f"run_{wanted.what}"](program)


if __name__ == "__main__":
    main()
