"""What a model or a store may try on whoever loads it, and what is never told to anybody."""

import base64
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import unittest

from support import DATA, program
from support.blob_stub import Fault
from support.http_case import HttpTest
from support.leaks import spellings
from support.program import MIB, PROGRAM, SANITIZED, ProgramTest, executable
from support.tls import behind_tls

from penstock_reference.safetensors import file_bytes

KEY = "c2VjcmV0IGtleSBvZiB0aGUgc3R1YiBzZXJ2ZXIhISE="
SAS = "sv=2022-11-02&sr=c&sp=rl&se=2099-01-01T00%3A00%3A00Z&sig=Zm9y%2BdGhl%2Fc3R1Yg%3D%3D"


class Leaks(ProgramTest):
    """The check that every run of every program test passes through finds what it is to find."""

    def told_by(self, code, env, *arguments):
        with self.assertRaises(AssertionError, msg=code) as caught:
            self.run_program(sys.executable, "-c", code, *arguments, env=env)
        return str(caught.exception)

    def test_every_spelling_in_every_place(self):
        signature = "Zm9y+dGhl/c3R1Yg=="
        given = {
            KEY: {"AZURE_STORAGE_ACCOUNT_KEY": KEY},
            signature: {"AZURE_STORAGE_SAS_TOKEN": SAS},
            "proxy-word": {"https_proxy": "http://user:proxy-word@proxy:1"},
        }
        for secret, env in given.items():
            forms = spellings(secret)
            self.assertIn(secret.encode(), forms)
            if secret.endswith("="):
                self.assertIn(base64.b64decode(secret), forms)
            for form in forms:
                with self.subTest(secret=secret, form=form):
                    self.told_by(f"import sys; sys.stderr.buffer.write(b'xx' + {form!r} + b'yy')", env)
        places = {
            "print(s)": "its output",
            f"open({str(self.folder / 'report.json')!r}, 'w').write(s)": "report.json",
            f"open({str(self.folder)!r} + '/' + s, 'w')": "the name",
        }
        for code, place in places.items():
            self.assertIn(place, self.told_by(f"s = {KEY!r}; {code}", {"AZURE_STORAGE_KEY": KEY}))

    def test_secrets_of_connection_strings_and_urls(self):
        connection = f"AccountName=a;AccountKey={KEY};SharedAccessSignature={SAS}"
        for told in (connection, KEY, "Zm9y%2BdGhl%2Fc3R1Yg%3D%3D"):
            self.told_by(f"print({told!r})", {"AZURE_STORAGE_CONNECTION_STRING": connection})
        self.told_by("import sys; print(sys.argv[1][-26:])", {}, f"https://a.blob.core.windows.net/c/m?{SAS}")

    def test_what_looks_like_a_secret(self):
        for text in ("SharedKey account:c2ln", "Bearer eyJhbGciOi", "authorization: x", "?sv=1&sig=abcdef12"):
            self.told_by(f"print({text!r})", {})
        self.run_program(sys.executable, "-c", "print('a SAS in the URI; sig=... is not shown')")

    def test_a_cache_that_others_can_read(self):
        for mode, make in ((0o755, "os.makedirs(p)"), (0o700, "os.makedirs(p, 0o700); open(p + '/f', 'w')")):
            code = f"import os; os.umask(0o22); p = os.environ['XDG_CACHE_HOME'] + '/penstock'; {make}"
            self.assertIn("has mode", self.told_by(code, {"XDG_CACHE_HOME": str(self.folder / f"open{mode}")}))


class Wire(HttpTest):
    """Credentials go to the host that they are for, over a connection that is verified."""

    def credentials(self, stub):
        base = {"AZURE_STORAGE_ENDPOINT": stub.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": "devaccount"}
        return {"key": base | {"AZURE_STORAGE_ACCOUNT_KEY": KEY}, "sas": base | {"AZURE_STORAGE_SAS_TOKEN": SAS}}

    def test_redirects_are_not_followed(self):
        """Not to another port, another host, or out of TLS; and where they point to is not told: it may hold the SAS."""
        plain, secure = self.stub(), self.stub()
        authority = behind_tls(secure, self.folder)
        other = self.stub()
        port = other.server.server_address[1]
        for stub in (plain, secure):
            for how, env in self.credentials(stub).items():
                for op, name in (("list", ""), ("get", r"config\.json$"), ("get", r"safetensors$"), ("any", "")):
                    for code in (301, 302, 303, 307, 308):
                        for host in ("127.0.0.1", "localhost"):

                            def away(handler, request, blob):
                                to = f"http://{host}:{port}{request.path}?{request.query}"
                                handler.answer_head(request, code, {"Location": to, "Content-Length": "0"})

                            stub.faults = [Fault(away, op, name)]
                            if (code, host) != (307, "localhost") and (op, how) != ("get", "sas"):
                                continue
                            with self.subTest(stub.scheme, how=how, op=op, code=code, host=host):
                                env = env | {"CURL_CA_BUNDLE": authority}
                                made = self.fails_on(stub, ["io", "access"], [str(code), "redirect"], env=env)
                                self.assertNotIn(str(port), made.err)
        self.assertEqual(other.requests(), [])

    def test_tls_is_verified(self):
        stub = self.stub()
        env = self.credentials(stub)["sas"]
        authority = behind_tls(stub, self.folder)
        env["AZURE_STORAGE_ENDPOINT"] = stub.endpoint
        for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            self.loads(stub, env=env | {name: authority})
        stub.log.clear()
        self.fails_on(stub, "access", ["certificate", "CURL_CA_BUNDLE"], env=env)
        self.fails_on(stub, ["access", "usage"], ["absent.pem"], env=env | {"CURL_CA_BUNDLE": "/absent.pem"})
        elsewhere = self.stub()
        authority = behind_tls(elsewhere, self.folder, name="DNS:other.example")
        env = env | {"AZURE_STORAGE_ENDPOINT": elsewhere.endpoint, "CURL_CA_BUNDLE": authority}
        self.fails_on(elsewhere, "access", ["certificate"], env=env)
        self.assertEqual(stub.requests() + elsewhere.requests(), [], "nothing is asked of who cannot prove to be the store")

    def test_sizes_that_a_listing_claims(self):
        """What a store says about sizes allocates nothing."""
        for name, size in (("config.json", 1 << 62), ("tokenizer.json", 1 << 40), (r"00003-of-00005.safetensors", 1 << 62)):
            with self.subTest(name):
                stub = self.stub()

                def lie(handler, request, blob):
                    write, entry = handler.write, f"{name}</Name>"

                    def changed(request, data):
                        text = data.decode()
                        at = text.index(entry)
                        text = text[:at] + re.sub(r"<Content-Length>\d+<", f"<Content-Length>{size}<", text[at:], count=1)
                        write(request, text.encode())

                    handler.write, head = changed, handler.answer_head
                    handler.answer_head = lambda r, code, headers: head(r, code, {"Connection": "close", "Content-Type": headers["Content-Type"]})
                    handler.close_connection = True
                    handler.answer_list(handler.server.owner, request)

                stub.faults = [Fault(lie, "list")]
                made = self.penstock("load", "az://c/m", env=self.env(stub), timeout=60)
                self.assertLess(made.peak_bytes, 150 * MIB, made)
                self.assertIn(made.status, (0, 10, 11, 15, 16, 18), made)


class Evil:
    """Unpickled, it runs a command."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


class Hostile(HttpTest):
    """A model folder from a stranger."""

    def code_everywhere(self):
        """A model whose every file would leave a mark if anything ran it; the folder and the mark."""
        folder, mark = self.new_path("hostile"), self.new_path("mark")
        shutil.copytree(DATA / "tiny_llama_tied", folder)
        touch = f"open({str(mark)!r}, 'w')"
        config = json.loads((folder / "config.json").read_text())
        config |= {"auto_map": {"AutoConfig": "modeling_own.Config", "AutoModelForCausalLM": "modeling_own.Model"}, "trust_remote_code": True}
        (folder / "config.json").write_text(json.dumps(config))
        for name in ("modeling_own.py", "tokenization_own.py", "sitecustomize.py", "setup.py", "__init__.py"):
            (folder / name).write_text(touch + "\n")
        for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt", "scheduler.pth"):
            (folder / name).write_bytes(pickle.dumps(Evil(f"touch {mark}")))
        (folder / "run.sh").write_text(f"#!/bin/sh\ntouch {mark}\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "penstock").symlink_to("run.sh")
        (folder / "chat_template.jinja").write_text("{{ cycler.__init__.__globals__.os.system('touch %s') }}" % mark)
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}))
        return folder, mark

    def test_nothing_from_a_model_is_run(self):
        folder, mark = self.code_everywhere()
        stub = self.stub(folder)
        for n, (uri, env) in enumerate(((folder, {}), ("az://c/m", self.env(stub)))):
            for cwd in (None, folder):
                for command in ("inspect", "plan", "load"):
                    self.succeeds(command, uri, env=env, cwd=cwd)
                got = self.new_path("fetched")
                self.succeeds("fetch", uri, got, env=env, cwd=cwd)
                self.assertFalse([p for p in got.rglob("*") if p.is_file() and os.access(p, os.X_OK)], "what is fetched is data")
                self.assertFalse(list(got.rglob("*.bin")))
        self.assertFalse(mark.exists())

    @unittest.skipIf(SANITIZED, "a sanitizer brings all these")
    def test_the_program_can_start_no_other(self):
        """Save what a profile of the AWS tools names as credential_process, which has one way, without a shell."""
        file = executable("PENSTOCK_PROGRAM", *PROGRAM)
        symbols = subprocess.run(["nm", "-D", "--undefined-only", file], check=True, capture_output=True, text=True).stdout
        imported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
        self.assertTrue({"preadv", "preadv64"} & imported, imported)
        starts = {"fork", "vfork", "system", "popen", "posix_spawn", "dlopen", "clone"}
        self.assertEqual({name for name in imported if name in starts or name.startswith("exec")}, set())

    def test_files_that_are_no_files(self):
        """Devices, pipes, loops, a link to the root of the disk: an error or nothing, in bounded time and memory."""

        def pipe(path):
            os.mkfifo(path)

        makers = {
            "a pipe": pipe,
            "an endless device": lambda path: path.symlink_to("/dev/zero"),
            "a loop": lambda path: path.symlink_to(path.name),
            "a folder": lambda path: path.mkdir(),
            "a link to nothing": lambda path: path.symlink_to("/no/such/file"),
        }
        for what, make in makers.items():
            for name in ("config.json", "model.safetensors.index.json", "model-00002-of-00003.safetensors", "tokenizer.json"):
                with self.subTest(what, name=name):
                    folder = self.new_path("odd")
                    shutil.copytree(DATA / "tiny_llama_tied", folder)
                    (folder / name).unlink()
                    make(folder / name)
                    made = self.penstock("load", folder, timeout=20)
                    self.assertLess(made.peak_bytes, 150 * MIB, made)
                    if name == "tokenizer.json" or (what, name) == ("a folder", "model.safetensors.index.json"):
                        self.assertEqual(made.status, 0, made)
                        made = self.penstock("fetch", folder, self.new_path("fetched"), timeout=20)
                        self.assertLess(made.peak_bytes, 150 * MIB, made)
                    else:
                        self.assertIn(made.status, (10, 11, 13, 14, 18), made)
                        self.assertIn(name, made.err)

    def test_folders_that_never_end(self):
        folder = self.new_path("deep")
        shutil.copytree(DATA / "tiny_llama_tied", folder)
        (folder / "again").symlink_to(".")
        (folder / "root").symlink_to("/")
        for command, more in (("load", ()), ("fetch", (self.new_path("fetched"),))):
            made = self.succeeds(command, folder, *more, timeout=30)
            self.assertLess(made.peak_bytes, 150 * MIB, made)
        self.assertFalse(any("etc" in p.parts[-3:] for p in self.folder.rglob("passwd")))

    def test_numbers_that_would_fill_the_memory(self):
        """Counts of layers, experts and shards are not believed before the tensors agree."""
        for change in (
            {"num_hidden_layers": 10**9},
            {"num_hidden_layers": 2**63 - 1},
            {"num_hidden_layers": 10**30},
            {"vocab_size": 2**62, "hidden_size": 2**62},
            {"num_attention_heads": 2**40, "num_key_value_heads": 2**40},
        ):
            with self.subTest(change):
                folder = self.new_path("large")
                shutil.copytree(DATA / "tiny_llama_tied", folder)
                config = json.loads((folder / "config.json").read_text()) | change
                (folder / "config.json").write_text(json.dumps(config))
                made = self.fails(["config", "plan"], [], "load", folder, timeout=30)
                self.assertLess(made.peak_bytes, 150 * MIB, made)
        folder = self.new_path("experts")
        shutil.copytree(DATA / "tiny_deepseek", folder)
        config = json.loads((folder / "config.json").read_text()) | {"n_routed_experts": 10**9}
        (folder / "config.json").write_text(json.dumps(config))
        made = self.fails(["config", "plan"], [], "load", folder, timeout=30)
        self.assertLess(made.peak_bytes, 150 * MIB, made)

    def test_headers_that_would_fill_the_memory(self):
        many = ",".join(f'"t{n}":{{"dtype":"U8","shape":[{",".join(["1"] * 60000)}],"data_offsets":[{n},{n + 1}]}}' for n in range(3))
        for header in (
            '{"a":{"dtype":"U8","shape":[' + "9" * 100000 + '],"data_offsets":[0,4]}}',
            '{"a":{"dtype":"U8","shape":[0,18446744073709551615,18446744073709551615],"data_offsets":[0,18446744073709551615]}}',
            "{" + many + "}",
            '{"a":' + "[" * 2_000_000,
        ):
            with self.subTest(header[:60]):
                folder = self.new_path("header")
                folder.mkdir()
                (folder / "model.safetensors").write_bytes(file_bytes(header, b"1234"))
                made = self.fails("format", ["model.safetensors"], "load", folder, "--arch", "as_stored", timeout=30)
                self.assertLess(made.peak_bytes, 150 * MIB, made)


if __name__ == "__main__":
    program.main()
