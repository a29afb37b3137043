"""The whole way from plain web servers, with and without TLS, ranges, ETags, redirects and credentials."""

import os
import subprocess

from support import DATA, program
from support.program import ProgramTest, read_digests
from support.web_servers import Nginx, SimpleServer, basic, folder_with

NAME, TP = "tiny_llama_untied", 4
ONE_FILE = "tiny_qwen3"  # without an index


class Web(ProgramTest):
    def setUp(self):
        super().setUp()
        self.served = self.folder / "served"
        self.served.mkdir()
        self.model = folder_with(self.served / "my model", DATA / NAME)
        self.single = folder_with(self.served / "single", DATA / ONE_FILE)

    def started(self, server):
        self.addCleanup(server.stop)
        return server

    def simple(self):
        return self.started(SimpleServer(self.served))

    def loads(self, uri, env=()):
        made, digests, report = self.load(uri, "--tp", str(TP), "--memory-limit", "64MiB", env=env)
        self.assertEqual(digests, read_digests(DATA / f"{NAME}.tp{TP}.digest"), made)
        self.assertEqual(report["retries"], 0, made)

    def loads_one_file(self, uri):
        self.assertEqual(self.load(uri, "--tp", "2")[1], self.load(DATA / ONE_FILE, "--tp", "2")[1])

    def test_nginx(self):
        server = self.started(Nginx(self.served).start())
        self.assertIn("llama", self.succeeds("inspect", f"{server.url}/my%20model").out.lower())
        self.loads(f"{server.url}/my%20model/")
        self.loads_one_file(f"{server.url}/single")
        got = self.new_path("fetched")
        self.succeeds("fetch", f"{server.url}/my%20model", got)
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            self.assertEqual((got / name).read_bytes(), (DATA / NAME / name).read_bytes())

    def test_tls_with_an_authority_of_its_own(self):
        key, certificate = self.folder / "key.pem", self.folder / "authority.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2"]
        subprocess.run([*command, "-subj", "/CN=stub", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = self.started(Nginx(self.served, certificate, key).start())
        self.loads(f"{server.url}/my%20model", {"CURL_CA_BUNDLE": str(certificate)})
        self.fails("access", ["certificate", "CURL_CA_BUNDLE"], "load", f"{server.url}/my%20model")

    def test_a_server_without_ranges(self):
        server = self.simple()
        self.loads(f"{server.url}/my%20model")
        self.loads_one_file(f"{server.url}/single")
        with open(self.single / "model.safetensors", "r+b") as file:
            file.truncate(65 << 20)
        self.fails("io", ["ranges", "download"], "load", f"{server.url}/single")

    def test_what_is_not_there(self):
        server = self.started(Nginx(self.served).start())
        self.fails("not_found", ["nothing"], "load", f"{server.url}/none")
        (self.model / "model-00002-of-00005.safetensors").unlink()
        (self.model / "model-00004-of-00005.safetensors").unlink()
        self.fails("not_found", ["missing 2", "00002-of", "00004-of"], "load", f"{server.url}/my%20model")

    def test_an_overwrite_is_seen_by_its_date(self):
        """The dates of files are all that this server has."""
        server, shard = self.simple(), self.model / "model-00003-of-00005.safetensors"
        seen = []

        def on_get(path):
            seen.append(path)
            if path.endswith(shard.name) and sum(p.endswith(shard.name) for p in seen) == 3:  # pin, header, then bytes
                os.utime(shard, (1e9, 1e9))

        server.on_get = on_get
        self.fails("changed", ["overwritten", "00003"], "load", f"{server.url}/my%20model", "--tp", "1")

    def test_redirects(self):
        server, other = self.simple(), self.simple()
        for name in ("model-00001-of-00005.safetensors", "config.json"):
            server.moved[f"/my%20model/{name}"] = f"{other.url}/my%20model/{name}"
        server.moved["/my%20model/tokenizer.json"] = "/single/../my%20model/t%20k"
        os.rename(self.model / "tokenizer.json", self.model / "t k")
        server.proof = other.proof = None
        env = {"PENSTOCK_HTTP_TOKEN": "tokenForTheServer", "PENSTOCK_HTTP_ORIGIN": server.url}
        self.secrets = ["tokenForTheServer"]
        server.proof = "Bearer tokenForTheServer"
        self.loads(f"{server.url}/my%20model", env)
        self.assertTrue(other.log)
        self.assertFalse([path for path, headers in other.log if "authorization" in headers], "a token left its origin")
        server.moved["/my%20model/config.json"] = "/my%20model/config.json"
        self.fails("io", ["5 redirects"], "load", f"{server.url}/my%20model", env=env)
        server.moved["/my%20model/config.json"] = "file:///etc/passwd"
        self.fails("io", ["redirect"], "load", f"{server.url}/my%20model", env=env)

    def test_credentials(self):
        server = self.simple()
        server.proof = basic("me", "myPassword:1")
        self.secrets = ["myPassword:1", "anotherToken", server.proof.removeprefix("Basic ")]
        env = {"PENSTOCK_HTTP_USER": "me", "PENSTOCK_HTTP_PASSWORD": "myPassword:1"}
        self.loads(f"{server.url}/my%20model", env)
        self.fails("access", ["401"], "load", f"{server.url}/my%20model")
        self.fails(
            "access", ["401", "PENSTOCK_HTTP_TOKEN"], "load", f"{server.url}/my%20model", env={"PENSTOCK_HTTP_TOKEN": "anotherToken"}
        )
        # To another origin nothing is sent, and over plain http to this machine alone.
        self.fails("access", ["401"], "load", f"{server.url}/my%20model", env=env | {"PENSTOCK_HTTP_ORIGIN": "https://elsewhere.test"})
        self.fails(
            "access",
            ["https"],
            "load",
            "http://models.test/m",
            env=env | {"PENSTOCK_HTTP_ORIGIN": "http://models.test"},
        )
        self.fails("usage", ["user name"], "load", f"http://me:you@127.0.0.1:{server.server.server_address[1]}/m")

    def test_the_query_goes_with_every_object(self):
        server = self.simple()
        self.secrets = ["0123456789abcdef0123"]
        self.loads(f"{server.url}/my%20model?X-Amz-Signature=0123456789abcdef0123")
        self.assertTrue(all(path.endswith("?X-Amz-Signature=0123456789abcdef0123") for path, _ in server.log))


if __name__ == "__main__":
    program.main()
