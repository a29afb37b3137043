"""`penstock synth`: sizes of public models, values that can be computed again, the same bytes however they are cut."""

import array
import hashlib
import json
import math
import os
import signal
import struct
import subprocess
import time

from support import program
from support.program import PROGRAM, ProgramTest, executable, run

from penstock_reference.architectures import architecture_of, parameters
from penstock_reference.checkpoint import Checkpoint

# A DeepSeek-V3 of a few megabytes: a dense layer, one of eight experts, a draft layer.
SMALL_V3 = ["deepseek_v3", "--layers", "2", "--experts", "8", "--scale", "0.01"]
SMALL_KIMI = ["kimi_k25", "--layers", "2", "--experts", "4", "--scale", "0.01"]
SMALL_OSS = ["gpt_oss_20b", "--layers", "2", "--experts", "4", "--scale", "0.12"]
WORD = (1 << 64) - 1

# What is published of each model: tensors, bytes of them, and how many are of which dtype.
PUBLIC = {
    "smollm2_135m": (272, 269_030_016, {"BF16": 272}),
    "llama3_8b": (291, 16_060_522_496, {"BF16": 291}),
    "llama3_70b": (723, 141_107_412_992, {"BF16": 723}),
    "qwen3_8b": (399, 16_381_470_720, {"BF16": 399}),
    "qwen3_30b_a3b": (18_867, 61_064_245_248, {"BF16": 18_867}),
    "mixtral_8x7b": (995, 93_405_585_408, {"BF16": 995}),
    "deepseek_v2_lite": (5_291, 31_412_968_448, {"BF16": 5_291}),
    "deepseek_v2": (29_102, 471_482_869_760, {"BF16": 29_102}),
    "deepseek_v3": (91_991, 688_574_839_360, {"BF16": 316, "F32": 45_867, "F8_E4M3": 45_808}),
    "kimi_k2": (139_583, 1_029_173_249_888, {"BF16": 307, "F32": 69_668, "F8_E4M3": 69_608}),
    "kimi_k25": (208_550, 595_148_192_736, {"BF16": 70_250, "F32": 60, "I32": 138_240}),
    "gpt_oss_20b": (459, 13_761_264_768, {"BF16": 363, "U8": 96}),
    "gpt_oss_120b": (687, 65_248_815_744, {"BF16": 543, "U8": 144}),
}

# The formula in examples/penstock/synth_values.hpp: base and mask of one element, by dtype and end of name.
PATTERNS = [
    ("F32", ".weight_scale_inv", 0x3B800000, 0x01FFFFFF),
    ("BF16", ".weight_scale", 0x3B80, 0x01FF),
    ("U8", "_scales", 0x78, 0x03),
    ("U8", "_blocks", 0x00, 0xFF),
    ("I32", ".weight_packed", 0, 0xFFFFFFFF),
    ("BF16", "norm.weight", 0x3F60, 0x003F),
    ("F16", "norm.weight", 0x3B00, 0x01FF),
    ("F32", "norm.weight", 0x3F600000, 0x003FFFFF),
    ("BF16", "", 0x3C00, 0x81FF),
    ("F16", "", 0x2000, 0x8FFF),
    ("F32", "", 0x3C000000, 0x81FFFFFF),
    ("F8_E4M3", "", 0x00, 0xBF),
]
BITS = {"F32": 32, "BF16": 16, "F16": 16, "F8_E4M3": 8, "U8": 8, "I32": 32}


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def computed(name, dtype, seed, first, count):
    """The words `first` to `first + count` of a tensor, as bytes."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & WORD
    key = mix(h ^ mix(seed))
    base, mask = next((b, m) for d, end, b, m in PATTERNS if d == dtype and name.endswith(end))
    everywhere = WORD // ((1 << BITS[dtype]) - 1)  # 0x0101..., 0x00010001...
    base, mask = base * everywhere, mask * everywhere
    words = (base + (mix((key + i * 0x9E3779B97F4A7C15) & WORD) & mask) for i in range(first, first + count))
    return struct.pack(f"<{count}Q", *words)


def floats(dtype, data):
    """The numbers of a tensor."""
    if dtype == "F32":
        return array.array("f", data)
    if dtype == "BF16":
        return array.array("f", b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2)))
    assert dtype == "F8_E4M3", dtype
    table = [
        (-1) ** (b >> 7) * (2.0 ** ((b >> 3 & 15) - 7) * (1 + (b & 7) / 8) if b >> 3 & 15 else (b & 7) / 512)
        for b in range(256)
    ]
    table[0x7F] = table[0xFF] = math.nan
    return [table[b] for b in data]


class Synth(ProgramTest):
    def synth(self, *arguments, **options):
        folder = self.new_path(".model")
        self.succeeds("synth", arguments[0], folder, *arguments[1:], **options)
        return folder

    def config(self, *arguments):
        return json.loads((self.synth(*arguments, "--sparse") / "config.json").read_text())

    def hashes(self, folder):
        tensors = Checkpoint(folder).tensors
        return {name: (t.dtype, t.shape, hashlib.sha256(t.read()).hexdigest()) for name, t in tensors.items()}

    # ---- sizes

    def test_presets_have_the_sizes_of_public_models(self):
        for preset, (tensors, size, dtypes) in PUBLIC.items():
            with self.subTest(preset):
                folder = self.synth(preset, "--sparse")
                seen = json.loads(self.succeeds("inspect", folder, "--json", "-").out)
                self.assertEqual((seen["tensors"], seen["tensor_bytes"], seen["dtypes"]), (tensors, size, dtypes))
                self.assertEqual(seen["shards"], -(-size // (4 << 30)))
                self.assertLess(sum(f.stat().st_blocks * 512 for f in folder.iterdir()), 64 << 20)
                self.assertEqual(sorted(p.suffix for p in folder.iterdir() if ".part" in p.name), [])

    def test_names_and_shapes_of_deepseek_v3(self):
        tensors = Checkpoint(self.synth("deepseek_v3", "--sparse")).tensors
        for name, dtype, shape in (
            ("model.embed_tokens.weight", "BF16", (129280, 7168)),
            ("model.layers.0.mlp.down_proj.weight", "F8_E4M3", (7168, 18432)),
            ("model.layers.2.mlp.up_proj.weight_scale_inv", "F32", (144, 56)),
            ("model.layers.3.mlp.gate.weight", "BF16", (256, 7168)),
            ("model.layers.3.mlp.gate.e_score_correction_bias", "F32", (256,)),
            ("model.layers.3.mlp.experts.255.down_proj.weight", "F8_E4M3", (7168, 2048)),
            ("model.layers.60.mlp.shared_experts.gate_proj.weight_scale_inv", "F32", (16, 56)),
            ("model.layers.60.self_attn.kv_a_proj_with_mqa.weight", "F8_E4M3", (576, 7168)),
            ("model.layers.60.self_attn.kv_a_proj_with_mqa.weight_scale_inv", "F32", (5, 56)),
            ("model.layers.61.eh_proj.weight", "BF16", (7168, 14336)),
            ("model.layers.61.shared_head.head.weight", "BF16", (129280, 7168)),
            ("lm_head.weight", "BF16", (129280, 7168)),
        ):
            self.assertEqual((tensors[name].dtype, tensors[name].shape), (dtype, shape), name)
        self.assertNotIn("model.layers.2.mlp.gate.weight", tensors)
        self.assertNotIn("model.layers.3.mlp.gate_proj.weight", tensors)

    def test_other_numbers_of_layers_and_experts(self):
        for layers, dense in ((1, 1), (2, 1), (3, 2), (4, 3), (61, 3), (70, 3)):
            config = self.config("deepseek_v3", "--layers", str(layers), "--experts", "4", "--scale", "0.01")
            self.assertEqual((config["num_hidden_layers"], config["first_k_dense_replace"]), (layers, dense))
        for experts, groups, chosen, each in ((1, 1, 1, 1), (6, 3, 3, 6), (7, 1, 1, 7), (8, 4, 4, 8), (512, 8, 4, 8)):
            config = self.config("deepseek_v3", "--layers", "2", "--experts", str(experts), "--scale", "0.01")
            self.assertEqual(
                [config[k] for k in ("n_routed_experts", "n_group", "topk_group", "num_experts_per_tok")],
                [experts, groups, chosen, each],
            )

    def test_scaled_models_can_be_split_like_the_real_ones(self):
        for model, splits in (
            (["llama3_8b"], (1, 2, 4, 8)),
            (["llama3_8b", "--quant", "fp8_block"], (1, 2, 4, 8)),
            (["llama3_70b", "--quant", "fp8_block"], (1, 2, 4, 8)),
            (["deepseek_v3", "--layers", "3", "--experts", "8"], (1, 2, 4, 8)),
            (["deepseek_v3", "--layers", "3", "--experts", "8", "--quant", "none"], (1, 2, 4, 8)),
            (["kimi_k2", "--layers", "3", "--experts", "8"], (1, 2, 4, 8)),
            (["deepseek_v2_lite", "--layers", "3"], (1, 2, 4, 8)),
            (["qwen3_8b", "--quant", "fp8_block"], (1, 2, 4, 8)),
            (["qwen3_30b_a3b", "--layers", "2", "--experts", "8"], (1, 2, 4, 8)),
            (["mixtral_8x7b", "--layers", "2", "--quant", "fp8_block"], (1, 2, 4, 8)),
            (["kimi_k25", "--layers", "2", "--experts", "8"], (1, 2, 4, 8)),
            (["gpt_oss_20b", "--layers", "2", "--experts", "8"], (1, 2, 4, 8)),
        ):
            for scale in ("0.001", "0.13", "0.5", "0.77", "1"):
                folder = self.synth(*model, "--scale", scale, "--sparse")
                for tp in splits:
                    with self.subTest(model=model, scale=scale, tp=tp):
                        self.succeeds("plan", folder, "--tp", str(tp), "--memory-limit", "1GiB")

    def test_scaling_keeps_what_is_not_a_width(self):
        real, half = self.config("deepseek_v3"), self.config("deepseek_v3", "--scale", "0.5")
        changed = {key for key in real if real[key] != half.get(key)}
        self.assertEqual(
            changed,
            {"hidden_size", "intermediate_size", "moe_intermediate_size", "q_lora_rank", "kv_lora_rank", "vocab_size"}
            | {"num_attention_heads", "num_key_value_heads"},
        )
        self.assertEqual(set(half), set(real))
        for key in changed:
            self.assertAlmostEqual(half[key] / real[key], 0.5, delta=0.001, msg=key)
        llama = self.config("llama3_8b", "--scale", "0.5")
        self.assertEqual([llama[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim")], [16, 4, 128])

    def test_quantisation_can_be_added_and_taken_away(self):
        tensors = Checkpoint(self.synth(*SMALL_V3, "--quant", "none", "--sparse")).tensors
        self.assertEqual({t.dtype for n, t in tensors.items() if "bias" not in n}, {"BF16"})
        tensors = Checkpoint(self.synth("llama3_8b", "--scale", "0.1", "--quant", "fp8_block", "--sparse")).tensors
        self.assertEqual(tensors["model.layers.3.mlp.up_proj.weight"].dtype, "F8_E4M3")
        self.assertEqual(tensors["model.layers.3.mlp.up_proj.weight_scale_inv"].dtype, "F32")
        self.assertEqual(tensors["lm_head.weight"].dtype, "BF16")
        self.assertEqual(tensors["model.norm.weight"].dtype, "BF16")

    # ---- values

    def test_values_follow_from_seed_name_and_place(self):
        for model, seed in (
            (SMALL_V3, 0),
            (SMALL_V3, 1 << 63),
            (["smollm2_135m", "--scale", "0.1"], 7),
            (SMALL_KIMI, 7),
            (SMALL_OSS, 7),
        ):
            for name, tensor in Checkpoint(self.synth(*model, "--seed", str(seed))).tensors.items():
                if name.endswith(".weight_shape"):
                    continue
                data = tensor.read()
                words = -(-len(data) // 8)
                for first in {0, max(0, words - 100)}:
                    count = min(words, 100)
                    want = computed(name, tensor.dtype, seed, first, count)
                    self.assertEqual(data[first * 8 :][: len(want)], want[: len(data) - first * 8], name)

    def test_numbers_are_finite_and_small(self):
        ranges = {}
        for name, tensor in Checkpoint(self.synth(*SMALL_V3)).tensors.items():
            kind = next(k for k in ("weight_scale_inv", "norm.weight", "") if name.endswith(k)) or tensor.dtype
            data = tensor.read()
            numbers = floats(tensor.dtype, data[: 1 << 16])
            self.assertFalse(any(map(math.isnan, numbers)), name)
            ranges.setdefault(kind, []).extend([min(numbers), max(numbers)])
            if tensor.dtype == "F8_E4M3":
                self.assertFalse({0x7F, 0xFF} & set(data), name)
        for kind, least, most in (
            ("weight_scale_inv", 2**-8, 2**-4),
            ("norm.weight", 0.875, 1.25),
            ("BF16", -0.125, 0.125),
            ("F32", -0.125, 0.125),  # the router's bias
            ("F8_E4M3", -1.875, 1.875),
        ):
            self.assertGreaterEqual(min(ranges[kind]), least, kind)
            self.assertLessEqual(max(ranges[kind]), most, kind)
            self.assertGreater(max(ranges[kind]) - min(ranges[kind]), 0.7 * (most - least), kind)

    def test_the_shape_note_says_the_shape(self):
        tensors = Checkpoint(self.synth(*SMALL_KIMI)).tensors
        notes = [name for name in tensors if name.endswith(".weight_shape")]
        self.assertEqual(len(notes), 12)
        for name in notes:
            height, words = tensors[name.replace("_shape", "_packed")].shape
            self.assertEqual(struct.unpack("<2i", tensors[name].read()), (height, 8 * words), name)

    def test_no_two_tensors_rows_or_experts_are_equal(self):
        tensors = Checkpoint(self.synth(*SMALL_V3)).tensors
        other = Checkpoint(self.synth(*SMALL_V3, "--seed", "1")).tensors
        rows, whole = {}, {}
        for name, tensor in tensors.items():
            data = tensor.read()
            self.assertNotEqual(data, other[name].read(), f"{name} is the same for another seed")
            self.assertEqual(whole.setdefault(data, name), name)
            width = len(data) // tensor.shape[0]
            if width >= 16:
                for row in range(tensor.shape[0]):
                    where = f"row {row} of {name}"
                    self.assertEqual(rows.setdefault(data[row * width :][:width], where), where)

    # ---- files

    def test_the_same_bytes_in_one_file_in_five_and_shuffled(self):
        one = self.synth(*SMALL_V3)
        five = self.synth(*SMALL_V3, "--shards", "5")
        shuffled = self.synth(*SMALL_V3, "--shards", "5", "--shuffle")
        self.assertEqual(sorted(f.name for f in one.iterdir()), ["config.json", "model.safetensors"])
        names = [f"model-{n:05}-of-00005.safetensors" for n in range(1, 6)]
        want, digests = self.hashes(one), self.load(one, "--tp", "2")[1]
        total = sum(len(t.read()) for t in Checkpoint(one).tensors.values())
        for folder in (five, shuffled):
            self.assertEqual(
                sorted(f.name for f in folder.iterdir()), ["config.json", *names, "model.safetensors.index.json"]
            )
            self.assertEqual(self.hashes(folder), want)
            index = json.loads((folder / "model.safetensors.index.json").read_text())
            self.assertEqual(index["metadata"], {"total_size": total})
            self.assertEqual(set(index["weight_map"].values()), set(names))
            self.assertEqual(set(index["weight_map"]), set(want))
            self.assertEqual((folder / "config.json").read_bytes(), (one / "config.json").read_bytes())
            self.assertEqual(self.load(folder, "--tp", "2")[1], digests)
        sizes = [(five / name).stat().st_size for name in names]
        self.assertLess(max(sizes), 1.3 * min(sizes), sizes)
        again = self.synth(*SMALL_V3, "--shards", "5", "--shuffle")
        for name in names:
            self.assertEqual((again / name).read_bytes(), (shuffled / name).read_bytes())
        other = self.synth(*SMALL_V3, "--shards", "5", "--shuffle", "--seed", "1")
        self.assertNotEqual(*(json.loads((f / "model.safetensors.index.json").read_text()) for f in (shuffled, other)))

    def test_shuffled_files_keep_apart_what_belongs_together(self):
        for shards in ("2", "3", "7"):
            folder = self.synth("deepseek_v3", "--sparse", "--shuffle", "--shards", shards)
            where = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
            self.assertEqual(len(set(where.values())), int(shards))
            for layer in range(62):
                for part in ("weight", "weight_scale_inv"):
                    a = f"model.layers.{layer}.self_attn."
                    self.assertNotEqual(where[f"{a}q_a_proj.{part}"], where[f"{a}kv_a_proj_with_mqa.{part}"])
                    m = f"model.layers.{layer}.mlp." + ("experts.17." if layer >= 3 else "")
                    self.assertNotEqual(where[f"{m}gate_proj.{part}"], where[f"{m}up_proj.{part}"])

    def test_as_many_files_as_tensors(self):
        for option in ([], ["--shuffle"]):
            folder = self.synth("llama3_8b", "--layers", "1", "--sparse", "--shards", "12", *option)
            tensors = Checkpoint(folder).tensors
            self.assertEqual(len(tensors), 12)
            self.assertEqual(len({t.path for t in tensors.values()}), 12)

    def test_holes_are_the_same_but_for_the_values(self):
        options = [*SMALL_V3, "--shards", "2"]
        full, sparse = self.synth(*options), self.synth(*options, "--sparse")
        for file in full.iterdir():
            holes = sparse / file.name
            if file.suffix != ".safetensors":
                self.assertEqual(holes.read_bytes(), file.read_bytes())
                continue
            data, zeros = file.read_bytes(), holes.read_bytes()
            header = 8 + int.from_bytes(data[:8], "little")
            self.assertEqual(zeros, data[:header] + bytes(len(data) - header))
            self.assertEqual(header % 8, 0)
            self.assertLess(holes.stat().st_blocks * 512, 1 << 17)

    # ---- what it is for

    def test_plans_of_the_whole_deepseek_v3(self):
        folder = self.synth("deepseek_v3", "--sparse")
        needed = set()
        for ep in ("1", "8"):
            out = self.new_path(".json")
            self.succeeds("plan", folder, "--tp", "8", "--ep", ep, "--json", out, timeout=60)
            seen = json.loads(out.read_text())
            self.assertEqual(len(seen["ranks"]), 8)
            needed.add(seen["bytes_needed"])
        self.assertEqual(len(needed), 1, "experts divided by rows or by blocks are as many bytes")

    def same_as_the_reference(self, folder, tp, ep=1):
        checkpoint = Checkpoint(folder)
        _, digests, _ = self.load(folder, "--tp", str(tp), "--ep", str(ep))
        want = {}
        for rank in range(tp):
            for p in parameters(checkpoint, architecture_of(checkpoint.config), tp, rank, ep):
                want[rank, p.name] = p.line(rank)
        self.assertEqual(digests, want)
        return digests

    def test_loads_of_a_small_deepseek_v3(self):
        folder = self.synth(*SMALL_V3, "--shards", "3", "--shuffle")
        tensors = Checkpoint(folder).tensors
        for tp, ep in ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)):
            with self.subTest(tp=tp, ep=ep):
                digests = self.same_as_the_reference(folder, tp, ep)
                if tp != ep:
                    continue
                for rank in range(tp):  # whole experts: those of this rank, one behind the other
                    mine = range(rank * 8 // ep, (rank + 1) * 8 // ep)
                    for part in ("weight", "weight_scale_inv"):
                        for stacked, pieces in (("w13", ("gate_proj", "up_proj")), ("w2", ("down_proj",))):
                            sha = hashlib.sha256()
                            for expert in mine:
                                for piece in pieces:
                                    sha.update(tensors[f"model.layers.1.mlp.experts.{expert}.{piece}.{part}"].read())
                            found = digests[rank, f"model.layers.1.mlp.experts.{stacked}_{part}"]
                            self.assertEqual(found["sha256"], sha.hexdigest())

    def test_loads_of_other_small_models(self):
        for model in (
            ["llama3_8b", "--layers", "2", "--scale", "0.02", "--quant", "fp8_block"],
            ["llama", "--layers", "3", "--scale", "0.2"],
            ["deepseek_v2_lite", "--layers", "2", "--experts", "4", "--scale", "0.05"],
            ["deepseek_v2", "--layers", "2", "--experts", "4", "--scale", "0.02"],
            ["kimi_k2", "--layers", "2", "--experts", "4", "--scale", "0.01", "--quant", "none"],
            ["qwen3_8b", "--layers", "2", "--scale", "0.02"],
            ["qwen3_30b_a3b", "--layers", "2", "--experts", "4", "--scale", "0.05"],
            ["mixtral_8x7b", "--layers", "2", "--experts", "4", "--scale", "0.02", "--quant", "fp8_block"],
            ["llama3_8b", "--layers", "2", "--scale", "0.02", "--quant", "wna16"],
            SMALL_KIMI,
            SMALL_OSS,
            [*SMALL_OSS, "--quant", "none"],
        ):
            folder = self.synth(*model)
            for tp in (1, 2, 4) if model[0] != "llama" else (1,):
                with self.subTest(model=model, tp=tp):
                    self.same_as_the_reference(folder, tp)

    # ---- what goes wrong

    def test_options_out_of_range(self):
        for words, *arguments in (
            (["MODEL", "deepseek_v3", "llama3_8b", "gpt5"], "gpt5"),
            (["--layers", "1 to 1000", "found 0"], "llama", "--layers", "0"),
            (["--layers", "1001"], "llama", "--layers", "1001"),
            (["--layers"], "llama", "--layers", "-1"),
            (["--layers"], "llama", "--layers", "two"),
            (["--experts", "1 to 4096", "found 0"], "deepseek_v3", "--experts", "0"),
            (["--experts", "expected a model that has experts"], "llama", "--experts", "4"),
            (["250000"], "deepseek_v3", "--experts", "4096", "--layers", "1000"),
            (["--scale", "above 0 and at most 1"], "llama", "--scale", "0"),
            (["--scale", "above 0 and at most 1"], "llama", "--scale", "1.5"),
            (["--scale", "above 0 and at most 1"], "llama", "--scale", "-0.5"),
            (["--scale", "above 0 and at most 1"], "llama", "--scale", "nan"),
            (["--shards", "found 0"], "llama", "--shards", "0"),
            (["--shards", "1 to 272", "found 273"], "llama", "--shards", "273"),
            (["--quant", "none, fp8_block", "int3"], "llama", "--quant", "int3"),
            (["--seed"], "llama", "--seed", "-1"),
        ):
            with self.subTest(arguments):
                folder = self.new_path(".model")
                self.fails("usage", words, "synth", arguments[0], folder, "--sparse", *arguments[1:])
                self.assertFalse(folder.exists())

    def test_a_scheme_that_cannot_store_the_sizes(self):
        folder = self.new_path(".model")
        self.fails("plan", ["128", "--quant"], "synth", "deepseek_v2_lite", folder, "--quant", "fp8_block", "--sparse")
        self.assertFalse(folder.exists())

    def test_nothing_is_overwritten(self):
        file = self.folder / "file"
        file.write_text("mine")
        self.fails("usage", ["new or an empty folder", "file"], "synth", "llama", file, "--sparse")
        self.assertEqual(file.read_text(), "mine")
        folder = self.synth("llama", "--sparse")
        before = {f.name: f.stat() for f in folder.iterdir()}
        self.fails("usage", ["new or an empty folder"], "synth", "llama", folder, "--sparse", "--layers", "2")
        self.assertEqual({f.name: f.stat() for f in folder.iterdir()}, before)
        empty = self.folder / "there" / "already"
        empty.mkdir(parents=True)
        self.succeeds("synth", "llama", f"{empty}/", "--sparse")
        self.succeeds("synth", "llama", f"{empty.parent}/new/folder/", "--sparse")

    def test_nothing_is_left_of_what_cannot_be_written(self):
        self.fails("io", [], "synth", "llama", "/proc/model", "--sparse")
        for there in (False, True):
            folder = self.new_path(".model")
            if there:
                folder.mkdir()
            penstock = executable("PENSTOCK_PROGRAM", *PROGRAM)
            made = run(
                # a file may have 1 MiB: the second one is too large
                ["sh", "-c", 'trap "" XFSZ; ulimit -f 2048; exec "$0" "$@"', penstock]
                + ["synth", "llama", folder, "--scale", "0.1", "--shards", "3"],
                env=self.environment,
            )
            self.assertEqual(made.status, program.STATUS["io"], made)
            self.assertIn("cannot write", made.err)
            self.assertEqual(folder.exists(), there)
            self.assertEqual(list(folder.iterdir()) if there else [], [])

    def test_more_than_the_disk_holds(self):
        space = os.statvfs(self.folder)
        if space.f_bavail * space.f_frsize > PUBLIC["kimi_k2"][1]:
            self.skipTest("this disk holds a terabyte")
        folder = self.new_path(".model")
        self.fails("io", ["free bytes", "--sparse"], "synth", "kimi_k2", folder)
        self.assertFalse(folder.exists())

    def test_nothing_is_left_of_what_is_stopped(self):
        folder = self.new_path(".model")
        command = [executable("PENSTOCK_PROGRAM", *PROGRAM), "synth", "llama3_8b", folder, "--layers", "2", "--scale", "0.7"]
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + 30
        while not (folder.exists() and any(f.stat().st_size > 1 << 20 for f in folder.iterdir())):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        self.assertEqual([f.name for f in folder.iterdir() if ".part" not in f.name], [])
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, program.STATUS["cancelled"], told)
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    program.main()
