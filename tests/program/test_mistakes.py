"""The mistakes of who tries it first: each message says what was expected, what was found, and what to do."""

import json
import shutil

from support import DATA, azure_auth, program
from support.azurite import Azurite, free_port
from support.program import ProgramTest

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 4976698672\n"
TINY = DATA / "tiny_llama_tied"
INDEX = "model.safetensors.index.json"
SHARD = "model-00002-of-00003.safetensors"


class Mistakes(ProgramTest):
    def copy(self, name="tiny_llama_tied", **files):
        """A copy of a tiny model with other files in it: bytes, or None for one that is gone."""
        folder = self.new_path("model")
        shutil.copytree(DATA / name, folder)
        return self.change(folder, files)

    def change(self, folder, files):
        for file, content in files.items():
            if content is None:
                (folder / file).unlink()
            else:
                (folder / file).write_bytes(content)
        return folder

    def quantised(self, **changes):
        """A model in FP8 whose config says something else as well."""
        folder = self.copy("tiny_deepseek_fp8")
        config = json.loads((folder / "config.json").read_text())
        config["quantization_config"] |= changes
        (folder / "config.json").write_text(json.dumps(config))
        return folder


class Folders(Mistakes):
    def test_places_that_are_no_model(self):
        hub = "has to be downloaded first"
        self.fails("not_found", ["meta-llama/Llama-3", hub], "load", "meta-llama/Llama-3")
        for path in ("./meta-llama/Llama-3", "/meta-llama/Llama-3", "llama"):
            self.assertNotIn(hub, self.fails("not_found", ["name the folder of a checkpoint"], "load", path).err)
        self.fails("not_found", ["two slashes", "az://"], "load", "az:/models/llama")
        for uri in ("gs://bucket/model", "hf://meta-llama/Llama-3"):
            self.fails("usage", [uri, "a plain path", "az://"], "load", uri)

    def test_folders_with_other_weights(self):
        for name in ("pytorch_model.bin", "model-q4.gguf", "consolidated.00.pth"):
            folder = self.new_path("other")
            folder.mkdir()
            self.change(folder, {"config.json": b"{}", name: b"weights"})
            self.fails("not_found", ["only safetensors are read", "convert", name], "load", folder)
        self.fails("usage", [name, "name the folder"], "load", folder / name)

    def test_the_folder_above(self):
        self.copy()
        self.fails("not_found", ["name the folder that has them", "model"], "load", self.folder)

    def test_files_that_were_not_downloaded(self):
        for name, kind in (("config.json", "config"), (INDEX, "config"), (SHARD, "format")):
            for content, words in ((POINTER, ["git lfs pull"]), (b"<html>log in</html>", ["page of a web site"]), (b"", [])):
                with self.subTest(name, content=content):
                    self.fails(kind, [name, *words], "load", self.copy(**{name: content}))

    def test_weights_beside_the_weights_are_told(self):
        shard = (TINY / SHARD).read_bytes()
        made = self.succeeds("load", self.copy(**{"model.safetensors": shard, "consolidated.safetensors": shard}))
        self.assertIn("not read: consolidated.safetensors, model.safetensors", made.err)
        single = self.new_path("single")
        self.succeeds("synth", "llama", single, "--shards", "1", "--scale", "0.1")
        self.assertEqual(self.succeeds("plan", single).err, "")
        self.change(single, {"adapter_model.safetensors": shard})
        self.assertIn("not read: adapter_model.safetensors", self.succeeds("plan", single).err)

    def test_a_folder_without_config_or_tokenizer(self):
        self.fails("config", ["no config.json", "as_stored"], "load", self.copy(**{"config.json": None}))
        self.fails("config", ["architectures", "as_stored"], "load", self.copy(**{"config.json": b"{}"}))
        self.succeeds("load", self.copy(**{"tokenizer.json": None, "tokenizer_config.json": None}))


class Options(Mistakes):
    def test_unknown_words_name_the_nearest_known_one(self):
        for words, arguments in (
            (["--progres", "--progress"], ("load", TINY, "--progres")),
            (["--memory_limit", "--memory-limit"], ("load", TINY, "--memory_limit", "3GiB")),
            (["--diget=x", "--digest"], ("load", TINY, "--diget=x")),
            (["laod", "load"], ("laod", TINY)),
            (["plna", "plan"], ("plna",)),
        ):
            made = self.penstock(*arguments)
            self.assertEqual(made.status, 2, made)
            for word in words:
                self.assertIn(word.split("=")[0], made.err)
            self.assertIn("meant?", made.err)
        self.fails("usage", ["lama", "llama"], "load", TINY, "--arch", "lama")
        self.fails("usage", ["fp8", "fp8_block"], "load", TINY, "--quant", "fp8")
        self.fails("usage", ["Place", "place"], "load", TINY, "--ownership", "Place")
        self.fails("usage", ["cuda", "host"], "load", TINY, "--device", "cuda")
        self.fails("usage", ["lama3_8b", "llama3_8b"], "synth", "lama3_8b", self.new_path("synth"))

    def test_sizes_that_would_do_are_those_of_the_whole_model(self):
        for model, arguments, sizes in (
            ("tiny_llama_tied", ["--tp", "5"], "1, 3, 6"),
            ("tiny_llama_untied", ["--tp", "16"], "1, 2, 4, 8"),
            ("tiny_llama_untied", ["--tp", "3"], "1, 2, 4, 8"),
            ("tiny_deepseek", ["--tp", "3"], "1, 2, 4"),
        ):
            with self.subTest(model, arguments=arguments):
                made = self.fails("plan", ["cannot be divided", f"would do: {sizes}"], "plan", DATA / model, *arguments)
                self.assertTrue(made.err.endswith(f": {sizes}\n"), made)
                for tp in range(1, 17):
                    status = self.penstock("plan", DATA / model, "--tp", tp).status
                    self.assertEqual(status == 0, str(tp) in sizes.split(", "), tp)
        self.fails("plan", ["ep 3", "1, 2, 4"], "plan", DATA / "tiny_deepseek", "--tp", "4", "--ep", "3")
        self.fails("usage", ["below 3"], "load", TINY, "--tp", "3", "--rank", "3")

    def test_a_memory_limit_is_shared(self):
        words = ["for this rank", "4096", "3413", "3 ranks share --memory-limit 10KiB"]
        self.fails("plan", words, "load", TINY, "--tp", "3", "--memory-limit", "10KiB")
        self.succeeds("load", TINY, "--tp", "3", "--memory-limit", "12KiB")
        made = self.fails("plan", ["for this rank", "smaller slot"], "load", TINY, "--memory-limit", "1MiB", "--slot", "4MiB")
        self.assertNotIn("share", made.err)

    def test_seeds(self):
        most = 2**64 - 1
        for seed in (most + 1, -1, "1.5", "0x10", "many"):
            self.fails("usage", ["seed", str(most)], "synth", "llama", self.new_path("synth"), "--seed", seed)
        self.succeeds("synth", "llama", self.new_path("synth"), "--sparse", "--seed", most)

    def test_outputs_and_caches_that_cannot_be_written(self):
        self.fails("io", ["directory", "choose another place"], "load", TINY, "--digest", self.folder)
        for option in ("--json", "--trace", "--digest", "--digest-after"):
            self.fails("io", ["/proc/x", "choose another place"], "load", TINY, option, "/proc/x", *([] if option == "--digest" else ["--digest", self.new_path("d")]))
        self.fails("usage", ["empty folder", "another"], "load", TINY, "--dump", self.folder)
        self.fails("io", ["choose another folder"], "fetch", TINY, "/proc/x")


class Quantisation(Mistakes):
    def test_what_nobody_reads_is_told(self):
        self.assertEqual(self.succeeds("plan", self.quantised()).err, "")
        made = self.succeeds("plan", self.quantised(scale_fmt="ue8m0", frobnicate=3))
        self.assertIn("note: not read in quantization_config: frobnicate, scale_fmt", made.err.replace("scale_fmt, frobnicate", "frobnicate, scale_fmt"))
        ignored = json.loads((DATA / "tiny_deepseek_fp8" / "config.json").read_text())["quantization_config"]["modules_to_not_convert"]
        made = self.succeeds("plan", self.quantised(modules_to_not_convert=[*ignored, "model.layer.0.mlp"]))
        self.assertRegex(made.err, r"no tensor is of such a module: model\.layer\.0\.mlp\n$")

    def test_activations_that_no_scheme_reads(self):
        for scheme in ("static", "dynamc"):
            self.fails("config", [scheme, "fp8_block"], "plan", self.quantised(activation_scheme=scheme))

    def test_two_declarations(self):
        for algorithm, group, good in (("NVFP4", 16, False), ("FP8", None, True), ("FP8", 128, True)):
            declared = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": algorithm, "group_size": group}}
            declared["quantization"] = {k: v for k, v in declared["quantization"].items() if v}
            folder = self.copy("tiny_deepseek_fp8", **{"hf_quant_config.json": json.dumps(declared).encode()})
            if good:
                self.succeeds("plan", folder)
            else:
                self.fails("config", ["config.json", "hf_quant_config.json", "NVFP4", "fp8", "remove"], "plan", folder)

    def test_a_scheme_for_a_model_that_is_not_quantised(self):
        self.fails("config", ["weight_block_size", "declares no quantisation", "leave --quant out"], "load", TINY, "--quant", "fp8_block")


class Store(Mistakes):
    @classmethod
    def setUpClass(cls):
        cls.azurite = Azurite().start()
        cls.addClassCleanup(cls.azurite.stop)
        cls.azurite.create_container("models")
        cls.azurite.upload("models", "llms/tiny", TINY)

    def setUp(self):
        super().setUp()
        self.secrets = [azure_auth.KEY]
        self.account = {"AZURE_STORAGE_ENDPOINT": self.azurite.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT}
        self.key = self.account | {"AZURE_STORAGE_ACCOUNT_KEY": azure_auth.KEY}

    def refused(self, kind, words, env, uri="az://models/llms/tiny", timeout=60):
        return self.fails(kind, words, "inspect", uri, env=env, timeout=timeout)

    def sas(self, **options):
        return self.account | {"AZURE_STORAGE_SAS_TOKEN": azure_auth.service_sas("models", **options)}

    def test_keys(self):
        name = "AZURE_STORAGE_ACCOUNT_KEY"
        self.refused("access", ["403", name, "check the credentials", "clock"], self.key | {name: "d3Jvbmcga2V5IHdyb25nIGtleSE="})
        for broken in ("not a key at all", azure_auth.KEY[:-3]):
            self.refused("access", ["base64", name, "copy the key again"], self.key | {name: broken})
        self.refused("access", ["403", "other"], self.key | {"AZURE_STORAGE_ACCOUNT_NAME": "other"})
        self.refused("access", ["AZURE_STORAGE_SAS_TOKEN", "set one of them"], self.account)
        self.refused("access", ["Name=Value", "copy it again"], {"AZURE_STORAGE_CONNECTION_STRING": "nonsense"})

    def test_places(self):
        self.refused("not_found", ["ContainerNotFound", "name of the container", "model/"], self.key, "az://model/llms/tiny")
        for path in ("llms/tyni", "llms/tin"):
            self.refused("not_found", [path, "check container and path"], self.key, f"az://models/{path}")
        for path, below in (("llms", "tiny"), ("", "llms/tiny")):
            self.refused("not_found", ["name the folder that has them", f'"{below}"'], self.key, f"az://models/{path}")
        self.refused("usage", ["no container"], self.key, "az:///models/llms/tiny")

    def test_tokens(self):
        needs = "permissions r (read) and l (list)"
        for permissions in ("w", "r", "l"):
            self.refused("access", ["403", f"permits {permissions},", needs], self.sas(permissions=permissions))
        self.refused("access", ["expired at 2021-01-01", "make a new SAS"], self.sas(expiry="2021-01-01T00:00:00Z"))
        self.refused("access", ["not valid before 2098-01-01", "clock"], self.sas(start="2098-01-01T00:00:00Z"))
        self.refused("access", ["give credentials"], self.account | {"AZURE_STORAGE_ANON": "1"})

    def test_endpoints(self):
        def at(endpoint, **more):
            return self.key | {"AZURE_STORAGE_ENDPOINT": endpoint} | more

        down = f"http://127.0.0.1:{free_port()}/devstoreaccount1"
        self.refused("transient", ["127.0.0.1", "check the endpoint and the network"], at(down))
        self.refused("transient", ["no-such-host.invalid"], at("http://no-such-host.invalid/devstoreaccount1"))
        self.refused("transient", ["does not speak TLS", "http://"], at(self.azurite.endpoint.replace("http:", "https:")))
        self.refused("usage", ["http or https", "localhost:10000"], at("localhost:10000"))
        proxy = f"http://joe:proxy-word@127.0.0.1:{free_port()}"
        away = at("https://no-such-host.invalid/devstoreaccount1", https_proxy=proxy)
        self.refused("transient", ["https_proxy", "proxy"], away)

    def test_caches(self):
        self.refused("io", ["/proc/cache", "PENSTOCK_CACHE"], self.key | {"PENSTOCK_CACHE": "/proc/cache"})
        self.refused("io", ["PENSTOCK_CACHE"], self.key | {"HOME": "", "XDG_CACHE_HOME": ""})


if __name__ == "__main__":
    program.main()
