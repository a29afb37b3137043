"""Plain web servers: nginx, and one without ranges or ETags that can be told to redirect and to ask who is there."""

import base64
import http.server
import os
import pathlib
import shutil
import threading

from .azurite import free_port
from .blob_stub import Server
from .s3_stores import Processes


class Nginx:
    """Serves a folder, over TLS too where there is a certificate."""

    def __init__(self, folder, certificate=None, key=None):
        self.folder, self.certificate, self.key = folder, certificate, key

    def start(self):
        command = shutil.which("nginx", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin")
        if not command:
            raise AssertionError("no nginx: tests/setup.sh installs it")
        self.processes = Processes()
        at, self.port = self.processes.folder, free_port()
        temp = "".join(f"{kind}_temp_path {at}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        tls = f"ssl_certificate {self.certificate}; ssl_certificate_key {self.key};" if self.certificate else ""
        (at / "nginx.conf").write_text(
            f"daemon off; {'user root;' if os.geteuid() == 0 else ''} worker_processes 1; pid {at}/pid; error_log {at}/error;\n"
            f"events {{ worker_connections 64; }}\nhttp {{ access_log off; sendfile on; gzip on; gzip_types *; {temp}\n"
            f"server {{ listen 127.0.0.1:{self.port}{' ssl' if tls else ''}; {tls} root {self.folder}; }} }}\n"
        )
        self.processes.start(command, "-c", at / "nginx.conf", "-e", at / "error")
        self.processes.wait_for([self.port])
        return self

    def stop(self):
        self.processes.stop()

    @property
    def url(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"


class SimpleServer:
    """Python's own: no ranges, no ETag. `moved`: {path: where}; `proof`: the Authorization that it wants."""

    def __init__(self, folder):
        self.moved, self.proof, self.log, self.lock = {}, None, [], threading.Lock()
        self.on_get = lambda path: None
        owner = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __init__(self, *arguments):
                super().__init__(*arguments, directory=str(folder))

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                with owner.lock:
                    owner.log.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                    owner.on_get(self.path)
                if self.path in owner.moved:
                    self.send_response_only(302)
                    self.send_header("Location", owner.moved[self.path])
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                if owner.proof and self.headers.get("Authorization") != owner.proof:
                    self.send_response_only(401)
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                try:
                    super().do_GET()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def folder_with(target, source, *, without=()):
    """A copy of a model's folder."""
    target = pathlib.Path(target)
    shutil.copytree(source, target)
    for name in without:
        (target / name).unlink()
    return target
