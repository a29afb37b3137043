"""Bad input on disk: one typed error: what was expected, what was found, what to do. Nothing is half-loaded."""

import json
import random
import shutil
import struct

from support import DATA, program
from support.program import ProgramTest

from penstock_reference import generators
from penstock_reference.checkpoint import Checkpoint
from penstock_reference.safetensors import file_bytes, read_header, write_file

INDEX = "model.safetensors.index.json"


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


class Errors(ProgramTest):
    def tiny(self, name="tiny_llama_tied"):
        """A copy of a tiny model, to be spoiled."""
        self.counter += 1
        return shutil.copytree(DATA / name, self.folder / f"model{self.counter}")

    def config_with(self, folder, **changes):
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v != "absent"}))
        return folder

    def file_of(self, data):
        """A folder with one file of these bytes."""
        self.counter += 1
        folder = self.folder / f"file{self.counter}"
        folder.mkdir()
        (folder / "config.json").write_text('{"model_type":"anything"}')
        (folder / "model.safetensors").write_bytes(data)
        return folder

    def stored_fails(self, kinds, words, folder, *more):
        return self.fails(kinds, words, "load", folder, "--arch", "as_stored", *more)

    # Where the model is.

    def test_unknown_scheme_is_a_usage_error_that_names_the_known_ones(self):
        self.fails("usage", ["ftp", "az"], "load", "ftp://host/model")

    def test_missing_folder(self):
        for command in ("load", "inspect", "plan"):
            self.fails("not_found", ["no/such/model"], command, self.folder / "no/such/model")

    def test_folder_without_weights(self):
        folder = self.folder / "empty"
        folder.mkdir()
        self.fails("not_found", ["safetensors"], "load", folder, "--arch", "as_stored")

    def test_folder_without_config(self):
        folder = self.tiny()
        (folder / "config.json").unlink()
        self.fails(["not_found", "config"], ["config.json"], "load", folder)

    def test_file_in_place_of_a_folder(self):
        file = self.folder / "file"
        file.write_text("nothing")
        self.fails(["not_found", "io", "usage"], [str(file)], "load", file)

    # The index.

    def test_every_missing_shard_is_named(self):
        folder = self.tiny("tiny_llama_untied")
        gone = ["model-00002-of-00005.safetensors", "model-00004-of-00005.safetensors"]
        for name in gone:
            (folder / name).unlink()
        for command in ("load", "plan"):
            self.fails("not_found", gone, command, folder, "--tp", "2")

    def test_index_that_is_no_json(self):
        folder = self.tiny()
        (folder / INDEX).write_text('{"weight_map":{"a":"b.safetensors"')
        self.fails("config", [INDEX], "load", folder)

    def test_index_without_weight_map(self):
        folder = self.tiny()
        (folder / INDEX).write_text('{"metadata":{}}')
        self.fails("config", [INDEX, "weight_map"], "load", folder)

    def test_index_names_that_leave_the_folder(self):
        secret = self.folder / "other"
        secret.mkdir()
        write_file(secret / "model.safetensors", [("w", "U8", (2,), b"ab")])
        for name in (
            "../other/model.safetensors",
            str(secret / "model.safetensors"),
            "a/../../other/model.safetensors",
            "s3://other-bucket/x.safetensors",
            "x\u0000.safetensors",
        ):
            with self.subTest(name=name):
                folder = self.file_of(file_bytes("{}", b""))
                (folder / INDEX).write_text(json.dumps({"weight_map": {"w": name}}))
                self.stored_fails("config", [name.split("\0")[0]], folder)

    def test_index_gives_a_tensor_to_a_file_that_lacks_it(self):
        folder = self.tiny()
        index = json.loads((folder / INDEX).read_text())
        name, files = "model.layers.1.mlp.down_proj.weight", sorted(set(index["weight_map"].values()))
        index["weight_map"][name] = next(f for f in files if f != index["weight_map"][name])
        (folder / INDEX).write_text(json.dumps(index))
        self.fails(["config", "plan", "format"], [name, index["weight_map"][name]], "load", folder)

    # The files.

    def test_truncated_file(self):
        folder = self.tiny()
        file = folder / "model-00002-of-00003.safetensors"
        whole = file.stat().st_size
        for size, words in ((whole - 1, [str(whole), str(whole - 1)]), (whole // 2, [str(whole // 2)])):
            with open(file, "r+b") as f:
                f.truncate(size)
            for command in ("load", "plan", "inspect"):
                self.fails("format", [file.name, "truncated", *words], command, folder)

    def test_file_cut_inside_its_header(self):
        text = json.dumps({"w": entry("U8", [2], 0, 2)})
        for size in (0, 3, 8, 8 + len(text) // 2):
            with self.subTest(size=size):
                self.stored_fails("format", ["model.safetensors"], self.file_of(file_bytes(text, b"ab")[:size]))

    def test_bytes_after_the_last_tensor(self):
        self.stored_fails(
            "format", ["3"], self.file_of(file_bytes(json.dumps({"w": entry("U8", [2], 0, 2)}), b"ab---"))
        )

    def test_headers_that_lie(self):
        a = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
        cases = {
            "an empty tensor's twin with one element": (
                '{"blk.0.weight":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},'
                '"scaled_fp8":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[6,6]}}',
                6,
                ["scaled_fp8"],
            ),
            "half a byte": ('{"q":{"dtype":"F4","shape":[1,3],"data_offsets":[0,2]}}', 2, ["q"]),
            "one name twice": (
                '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]},'
                '"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
                8,
                ["a", "duplicate"],
            ),
            "one field twice": ('{"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}}', 4, ["dtype"]),
            "a hole": ('{"z":{"dtype":"U8","shape":[2],"data_offsets":[5,7]},' + a + "}", 7, ["z", "1"]),
            "trailing bytes": ('{"z":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},' + a + "}", 9, ["3"]),
            "an overlap": ('{"z":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},' + a + "}", 5, ["z", "a", "overlap"]),
            "a shape that is too large": (
                '{"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}}',
                4,
                ["a", "4000000", "4"],
            ),
            "a shape that overflows": (
                '{"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,4]}}',
                4,
                ["a"],
            ),
            "a negative extent": ('{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', 4, ["a"]),
            "an extent that is no integer": ('{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}', 4, ["a"]),
            "offsets the wrong way round": ('{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}', 4, ["a"]),
            "three offsets": ('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}', 4, ["a"]),
            "an unknown dtype": ('{"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}', 4, ["a", "F31"]),
            "no dtype": ('{"a":{"shape":[1],"data_offsets":[0,4]}}', 4, ["a", "dtype"]),
            "metadata that are no texts": (
                '{"__metadata__":{"a":1},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
                4,
                ["__metadata__"],
            ),
            "no object": ("[1,2]", 0, []),
            "no JSON": ('{"a":', 0, []),
            "something after the object": ('{} {"a":2}', 0, []),
            "a NUL in a name": ('{"a\\u0000b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', 4, []),
        }
        for what, (header, size, words) in cases.items():
            with self.subTest(what):
                self.stored_fails(
                    "format", ["model.safetensors", *words], self.file_of(file_bytes(header, bytes(range(size))))
                )

    def test_text_of_a_header_that_is_not_utf8(self):
        text = b'{"a\xff":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
        self.stored_fails("format", [], self.file_of(struct.pack("<Q", len(text)) + text + b"1234"))

    def test_header_of_an_absurd_length(self):
        for length, words in (
            (132095296, ["132095296"]),
            (0x7FFFFFFFFFFFFFFF, []),
            (0xFFFFFFFFFFFFFFFF, []),
            (0, []),
            (1, []),
        ):
            with self.subTest(length=length):
                folder = self.file_of(struct.pack("<Q", length) + bytes(32))
                if length == 132095296:
                    with open(folder / "model.safetensors", "r+b") as f:
                        f.truncate(7_000_000_000)  # a hole: the claimed length would fit
                made = self.stored_fails("format", words, folder)
                self.assertLess(made.peak_bytes, 100 * program.MIB, made)  # the header was not allocated

    def test_one_tensor_in_two_files_and_no_index(self):
        folder = self.file_of(b"")
        (folder / "model.safetensors").unlink()
        for n, data in ((1, b"ab"), (2, b"cd")):
            write_file(folder / f"model-0000{n}-of-00002.safetensors", [("twice", "U8", (2,), data)])
        self.stored_fails(
            ["format", "config", "plan"],
            ["twice", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
            folder,
        )

    # The config.

    def test_config_that_is_no_json(self):
        folder = self.tiny()
        (folder / "config.json").write_text('{"model_type":')
        self.fails("config", ["config.json"], "load", folder)

    def test_config_nested_without_end(self):
        folder = self.tiny()
        (folder / "config.json").write_text("[" * 5_000_000)
        self.fails("config", ["config.json"], "load", folder, timeout=20)

    def test_unknown_architecture_lists_the_known_ones(self):
        folder = self.config_with(self.tiny(), architectures=["NopeForCausalLM"], model_type="nope")
        self.fails("config", ["NopeForCausalLM", "llama", "as_stored"], "load", folder)
        self.fails("usage", ["nope", "llama", "as_stored"], "load", folder, "--arch", "nope")

    def test_missing_and_impossible_sizes(self):
        for change, words in (
            ({"hidden_size": "absent"}, ["hidden_size"]),
            ({"num_attention_heads": 0}, ["num_attention_heads"]),
            ({"num_hidden_layers": -1}, ["num_hidden_layers"]),
            ({"vocab_size": "many"}, ["vocab_size"]),
            ({"intermediate_size": 1.5}, ["intermediate_size"]),
        ):
            with self.subTest(change):
                self.fails(["config", "plan"], words, "load", self.config_with(self.tiny(), **change))

    def test_sizes_that_contradict_the_tensors(self):
        folder = self.config_with(self.tiny(), hidden_size=64)
        self.fails(["config", "plan"], ["48", "64"], "load", folder)
        folder = self.config_with(self.tiny(), vocab_size=351)
        self.fails(["config", "plan"], ["model.embed_tokens.weight", "350", "351"], "load", folder)

    def test_quantised_config_without_such_a_scheme(self):
        quantised = {"quant_method": "gptq", "bits": 4, "group_size": 128}
        self.fails("config", ["gptq"], "load", self.config_with(self.tiny(), quantization_config=quantised))
        fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
        self.fails("config", ["fp8"], "load", self.config_with(self.tiny(), quantization_config=fp8))

    def test_quantised_tensors_without_a_config_that_says_so(self):
        folder = self.random_llama()
        self.add(folder, [("model.layers.0.mlp.down_proj.weight_scale_inv", "F32", (1, 1), bytes(4))])
        self.fails(["config", "plan"], ["model.layers.0.mlp.down_proj.weight_scale_inv"], "load", folder)

    def test_unknown_quantisation_name(self):
        self.fails("usage", ["int3"], "load", self.tiny(), "--quant", "int3")

    # The plan.

    def random_llama(self):
        """One file, no index."""
        self.counter += 1
        folder, rng = self.folder / f"random{self.counter}", random.Random(7)
        config = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 12,
            "num_hidden_layers": 2,
            "intermediate_size": 14,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 4,
            "vocab_size": 70,
        }
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        write_file(folder / "model.safetensors", generators.llama_tensors(rng, config))
        return folder

    def add(self, folder, tensors=(), without=()):
        """Writes the file anew with more tensors, or fewer."""
        file = folder / "model.safetensors"
        kept = [(name, t.dtype, t.shape, t.read()) for name, t in read_header(file).items() if name not in without]
        write_file(file, [*kept, *tensors])

    def test_random_llama_as_it_is_loads(self):
        self.load(self.random_llama(), "--tp", "2")

    def test_tp_that_does_not_divide(self):
        folder = self.random_llama()
        for tp, words in ((3, ["128", "3 ranks", "would do: 1, 2"]), (8, ["4 heads", "8 ranks", "would do: 1, 2"])):
            for command in ("load", "plan"):
                self.fails("plan", words, command, folder, "--tp", str(tp))
        self.fails(
            "plan", ["3", "2"], "load", self.tiny(), "--tp", "2"
        )  # 6 heads would divide, 3 key and value heads do not
        config = json.loads((folder / "config.json").read_text()) | {"num_attention_heads": 6, "num_key_value_heads": 6}
        rng = random.Random(8)
        (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 15}))
        write_file(folder / "model.safetensors", generators.llama_tensors(rng, config | {"intermediate_size": 15}))
        self.fails("plan", ["15", "2"], "load", folder, "--tp", "2")
        self.fails("plan", ["128", "3"], "load", folder, "--tp", "3")  # 70 words are padded to 128

    def test_unknown_tensor_names_the_nearest_known_one(self):
        folder = self.random_llama()
        self.add(folder, [("model.layers.0.self_attn.q_pro.weight", "BF16", (4, 12), bytes(96))])
        self.fails(
            "plan", ["model.layers.0.self_attn.q_pro.weight", "model.layers.0.self_attn.q_proj.weight"], "load", folder
        )

    def test_tensor_of_a_layer_that_is_not_there(self):
        folder = self.random_llama()
        self.add(folder, [("model.layers.2.input_layernorm.weight", "BF16", (12,), bytes(24))])
        self.fails("plan", ["model.layers.2.input_layernorm.weight"], "load", folder)

    def test_missing_tensors(self):
        for name in (
            "model.layers.1.self_attn.k_proj.weight",
            "model.norm.weight",
            "lm_head.weight",
            "model.embed_tokens.weight",
        ):
            with self.subTest(name):
                folder = self.random_llama()
                self.add(folder, without=[name])
                for command in ("load", "plan"):
                    self.fails("plan", [name], command, folder)

    def test_pieces_of_one_parameter_that_disagree_on_dtype(self):
        folder, name = self.random_llama(), "model.layers.1.mlp.up_proj.weight"
        self.add(folder, [(name, "F64", (14, 12), bytes(14 * 12 * 8))], without=[name])
        self.fails(["plan", "config"], [name, "F64"], "load", folder)

    def test_memory_limit_that_cannot_do(self):
        made = self.fails(["plan", "usage"], ["1"], "load", self.tiny(), "--memory-limit", "1KiB")
        self.assertIn("memory", made.err)

    def test_slot_that_is_too_small_or_no_size(self):
        for size in ("0", "-1", "1KiX", "many", "99999999999999999999GiB"):
            with self.subTest(size):
                self.fails(["usage", "plan"], ["slot"], "load", self.tiny(), "--slot", size)

    # Where results go.

    def test_results_that_cannot_be_written(self):
        nowhere = self.folder / "no/such/folder/file"
        self.fails("io", [str(nowhere)], "load", self.tiny(), "--digest", nowhere)
        self.fails("io", [str(nowhere)], "load", self.tiny(), "--json", nowhere, "--digest", self.new_path(".digest"))

    def test_fetch_into_a_place_that_is_no_folder(self):
        (self.folder / "taken").write_text("a file")
        self.fails(["io", "usage"], [str(self.folder / "taken")], "fetch", self.tiny(), self.folder / "taken" / "below")

    def with_stored_head(self, change=lambda data: data, shape=None):
        """A tied model that stores its head all the same, in a shard of its own."""
        folder = self.tiny()
        stored = Checkpoint(folder).tensors["model.embed_tokens.weight"]
        write_file(folder / "model-head.safetensors", [("lm_head.weight", stored.dtype, shape or stored.shape, change(stored.read()))])
        index = json.loads((folder / INDEX).read_text())
        index["weight_map"]["lm_head.weight"] = "model-head.safetensors"
        (folder / INDEX).write_text(json.dumps(index))
        return folder

    def test_a_tied_head_that_is_stored_is_compared_if_asked(self):
        """Nobody reads it else."""
        want = program.read_digests(DATA / "tiny_llama_tied.tp3.digest")
        made, digests, report = self.load(self.with_stored_head(), "--tp", "3", "--check")
        self.assertEqual(digests, want)
        self.assertIn("compared 1 tensor", made.err)
        self.assertEqual(report["bytes_needed"], self.load(DATA / "tiny_llama_tied", "--tp", "3", "--check")[2]["bytes_needed"])

        other = self.with_stored_head(lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
        self.assertEqual(self.load(other, "--tp", "3")[1], want)
        size = Checkpoint(other).tensors["lm_head.weight"].size
        words = ["lm_head.weight", "model.embed_tokens.weight", f"byte {size - 3}", "config.json"]
        self.fails("config", words, "load", other, "--tp", "3", "--check")

        rows, columns = Checkpoint(other).tensors["lm_head.weight"].shape
        other = self.with_stored_head(shape=(columns, rows))
        self.load(other)
        self.fails("config", ["lm_head.weight", f"[{columns}, {rows}]", f"[{rows}, {columns}]"], "load", other, "--check")


if __name__ == "__main__":
    program.main()
