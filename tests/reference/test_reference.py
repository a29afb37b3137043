"""The reference against cases worked out by hand, against itself, and against the recorded digests."""

import hashlib
import json
import pathlib
import random
import struct
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from penstock_reference import generators, quantization, safetensors  # noqa: E402
from penstock_reference.architectures import accepts, parameters, possible_tp  # noqa: E402
from penstock_reference.checkpoint import Checkpoint  # noqa: E402

DATA = HERE.parent / "data"


def numbered_rows(name, height, width, start=0):
    """U8 [height, width], where every element of row i is start + i."""
    return name, "U8", (height, width), bytes(start + i for i in range(height) for _ in range(width))


def numbered_columns(name, height, width):
    return name, "U8", (height, width), bytes(range(width)) * height


def numbered_vector(name, size, start=0):
    return name, "U8", (size,), bytes(start + i for i in range(size))


# 8 query heads and 2 key and value heads of dimension 4, hidden 16, intermediate 8, 10 words.
CONFIG = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "intermediate_size": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "vocab_size": 10,
    "attention_bias": True,
}
LAYER = "model.layers.0."
TENSORS = [
    numbered_rows("model.embed_tokens.weight", 10, 16, 1),
    numbered_rows("lm_head.weight", 10, 16, 100),
    numbered_vector(LAYER + "input_layernorm.weight", 16),
    numbered_vector(LAYER + "post_attention_layernorm.weight", 16, 50),
    numbered_vector("model.norm.weight", 16, 70),
    numbered_rows(LAYER + "self_attn.q_proj.weight", 32, 16),
    numbered_vector(LAYER + "self_attn.q_proj.bias", 32),
    numbered_rows(LAYER + "self_attn.k_proj.weight", 8, 16, 100),
    numbered_vector(LAYER + "self_attn.k_proj.bias", 8, 100),
    numbered_rows(LAYER + "self_attn.v_proj.weight", 8, 16, 200),
    numbered_vector(LAYER + "self_attn.v_proj.bias", 8, 200),
    numbered_columns(LAYER + "self_attn.o_proj.weight", 16, 32),
    numbered_vector(LAYER + "self_attn.o_proj.bias", 16, 30),
    numbered_rows(LAYER + "mlp.gate_proj.weight", 8, 16),
    numbered_rows(LAYER + "mlp.up_proj.weight", 8, 16, 100),
    numbered_columns(LAYER + "mlp.down_proj.weight", 16, 8),
]


class ReferenceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def load(self, tensors, config, tp, rank, architecture="llama", ep=1, finished=False):
        (self.folder / "config.json").write_text(json.dumps(config))
        safetensors.write_file(self.folder / "model.safetensors", tensors)
        return {p.name: p for p in parameters(Checkpoint(self.folder), architecture, tp, rank, ep, finished)}


class Reference(ReferenceTest):
    def test_more_ranks_than_key_heads(self):
        for rank in range(8):
            got = self.load(TENSORS, CONFIG, 8, rank)
            want = (
                [*range(4 * rank, 4 * rank + 4)]
                + [100 + 4 * (rank // 4) + i for i in range(4)]
                + [200 + 4 * (rank // 4) + i for i in range(4)]
            )
            self.assertEqual(list(got[LAYER + "self_attn.qkv_proj.bias"].data), want)
            weight = got[LAYER + "self_attn.qkv_proj.weight"]
            self.assertEqual((weight.shape, list(weight.data[::16])), ((12, 16), want))
            self.assertEqual(
                list(got[LAYER + "self_attn.o_proj.weight"].data), list(range(4 * rank, 4 * rank + 4)) * 16
            )
            self.assertEqual(list(got[LAYER + "self_attn.o_proj.bias"].data), list(range(30, 46)))
            self.assertEqual(list(got[LAYER + "mlp.gate_up_proj.weight"].data[::16]), [rank, 100 + rank])
            self.assertEqual(list(got[LAYER + "mlp.down_proj.weight"].data), [rank] * 16)

    def test_fewer_ranks_than_key_heads(self):
        got = self.load(TENSORS, CONFIG, 2, 1)
        self.assertEqual(
            list(got[LAYER + "self_attn.qkv_proj.bias"].data), [*range(16, 32), *range(104, 108), *range(204, 208)]
        )
        self.assertEqual(list(got[LAYER + "mlp.gate_up_proj.weight"].data[::16]), [4, 5, 6, 7, 104, 105, 106, 107])
        self.assertEqual(list(got[LAYER + "mlp.down_proj.weight"].data), [4, 5, 6, 7] * 16)

    def test_vocabulary_is_padded_to_64_and_split(self):
        for rank in range(4):
            got = self.load(TENSORS, CONFIG, 4, rank)["model.embed_tokens.weight"]
            want = [*range(1, 11)] + [0] * 6 if rank == 0 else [0] * 16
            self.assertEqual((got.shape, list(got.data[::16])), ((16, 16), want))
            self.assertEqual(got.from_file, 160 if rank == 0 else 0)
        got = self.load(TENSORS, CONFIG, 1, 0)["lm_head.weight"]
        self.assertEqual((got.shape, list(got.data[::16])), ((64, 16), [*range(100, 110)] + [0] * 54))

    def test_tied_head_is_no_parameter(self):
        for tensors in (TENSORS, [t for t in TENSORS if t[0] != "lm_head.weight"]):
            self.assertNotIn("lm_head.weight", self.load(tensors, CONFIG | {"tie_word_embeddings": True}, 2, 0))

    def test_what_cannot_be(self):
        for change, tp in (({}, 3), ({"num_key_value_heads": 3}, 8), ({"mlp_bias": True}, 1)):
            with self.assertRaises((ValueError, KeyError)):
                self.load(TENSORS, CONFIG | change, tp, 0)
        with self.assertRaisesRegex(ValueError, "does not know"):
            self.load([*TENSORS, numbered_vector("model.layers.0.self_attn.q_norm.weight", 4)], CONFIG, 1, 0)

    def test_sizes_of_small_elements(self):
        self.assertEqual(safetensors.size_in_bytes("F4", (2, 8)), 8)
        self.assertEqual(safetensors.size_in_bytes("F6_E3M2", (4,)), 3)
        self.assertEqual(safetensors.size_in_bytes("C64", ()), 8)
        self.assertEqual(safetensors.size_in_bytes("F8_E4M3", (3, 0)), 0)
        with self.assertRaises(ValueError):
            safetensors.size_in_bytes("F4", (1, 3))

    def test_data_start_where_the_header_ends(self):
        text = '{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
        (self.folder / "model.safetensors").write_bytes(
            struct.pack("<Q", 54) + text.encode() + struct.pack("<ff", 1, 2)
        )
        (tensor,) = Checkpoint(self.folder).tensors.values()
        self.assertEqual((tensor.first, struct.unpack("<ff", tensor.read())), (62, (1.0, 2.0)))

    def test_the_index_says_which_file_owns_a_tensor(self):
        safetensors.write_file(self.folder / "old.safetensors", [("n", "U8", (2,), b"ab"), ("q", "U8", (4,), b"old!")])
        safetensors.write_file(self.folder / "new.safetensors", [("q", "U8", (4,), b"new!")])
        index = {"weight_map": {"q": "new.safetensors", "n": "old.safetensors"}}
        (self.folder / "model.safetensors.index.json").write_text(json.dumps(index))
        got = {p.name: p.data for p in parameters(Checkpoint(self.folder), "as_stored", 1, 0)}
        self.assertEqual(got, {"q": b"new!", "n": b"ab"})

    def test_all_ranks_together_hold_each_byte(self):
        """Ranks put together by another route than they were cut by."""
        for seed in range(40):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                config, _ = generators.random_llama(random.Random(seed), folder)
                checkpoint = Checkpoint(folder)
                stored = {name: tensor.read() for name, tensor in checkpoint.tensors.items()}
                for tp in possible_tp(config):
                    ranks = [{p.name: p for p in parameters(checkpoint, "llama", tp, rank)} for rank in range(tp)]
                    self.check_together(config, tp, ranks, stored)

    def check_together(self, config, tp, ranks, stored):
        kv_heads = config.get("num_key_value_heads") or config["num_attention_heads"]
        for name, first in ranks[0].items():
            data = [rank[name].data for rank in ranks]
            if "norm" in name or name.endswith(("o_proj.bias", "down_proj.bias")):
                self.assertEqual(data, [stored[name]] * tp)
            elif "embed" in name or name == "lm_head.weight":
                self.assertEqual(b"".join(data).rstrip(b"\0"), stored[name].rstrip(b"\0"))
                self.assertEqual(first.shape[0] * tp % 64, 0)
            elif "qkv_proj" in name:
                q, k, v = (stored[name.replace("qkv_proj", x + "_proj")] for x in "qkv")
                each, shared = len(q) // tp, max(1, tp // kv_heads)
                kv = len(k) * shared // tp
                self.assertEqual(b"".join(d[:each] for d in data), q)
                self.assertEqual(b"".join(d[each : each + kv] for d in data[::shared]), k)
                self.assertEqual(b"".join(d[each + kv :] for d in data[::shared]), v)
                self.assertTrue(all(data[r][each:] == data[r // shared * shared][each:] for r in range(tp)))
            elif "gate_up_proj" in name:
                half = len(data[0]) // 2
                self.assertEqual(b"".join(d[:half] for d in data), stored[name.replace("gate_up", "gate")])
                self.assertEqual(b"".join(d[half:] for d in data), stored[name.replace("gate_up", "up")])
            else:
                height = first.shape[0]
                self.assertIn(name.split(".")[-2], ("o_proj", "down_proj"))
                pitch = len(data[0]) // height
                self.assertEqual(
                    b"".join(d[r * pitch : (r + 1) * pitch] for r in range(height) for d in data), stored[name]
                )

    def test_generators_reach_what_they_are_for(self):
        seen = set()
        for seed in range(200):
            config, aim = generators.random_llama_config(random.Random(seed))
            self.assertIn(aim, possible_tp(config))
            kv_heads = config.get("num_key_value_heads") or config["num_attention_heads"]
            seen |= {
                ("tp", aim),
                ("tied", config.get("tie_word_embeddings")),
                ("bias", config.get("attention_bias")),
                ("head_dim", config.get("head_dim", "absent") is None),
                ("replicated", aim > kv_heads),
                ("odd", config["intermediate_size"] // aim % 2),
                ("padded", config["vocab_size"] % 64 > 0),
                ("default", "num_key_value_heads" in config),
            }
            for dtype, shape in ((t[1], t[2]) for t in generators.random_as_stored_tensors(random.Random(seed))):
                seen |= {("dtype", dtype), ("rank", len(shape)), ("empty", 0 in shape)}
        for want in [
            ("tp", 8),
            ("tp", 5),
            ("tied", None),
            ("tied", True),
            ("tied", False),
            ("bias", True),
            ("head_dim", True),
            ("replicated", True),
            ("odd", 1),
            ("padded", True),
            ("padded", False),
            ("default", False),
            ("rank", 0),
            ("empty", True),
            *(("dtype", dtype) for dtype in safetensors.BITS),
        ]:
            self.assertIn(want, seen)

    def test_recorded_digests_are_those_of_the_committed_models(self):
        files = sorted(DATA.glob("tiny_llama_*.digest"))
        self.assertGreaterEqual(len(files), 3)
        for file in files:
            name, tp = file.name.split(".")[0], int(file.name.split(".")[1].removeprefix("tp"))
            recorded = [json.loads(line) for line in file.read_text().splitlines()]
            made = [p.line(rank) for rank in range(tp) for p in parameters(Checkpoint(DATA / name), "llama", tp, rank)]
            self.assertEqual(recorded, made)
            self.assertTrue(all(len(line["sha256"]) == len(hashlib.sha256().hexdigest()) for line in recorded))

    def test_recorded_digests_of_all_lines(self):
        files = sorted(DATA.glob("tiny_*.digests.json"))
        self.assertGreaterEqual(len(files), 14)
        for file in files:
            checkpoint = Checkpoint(DATA / file.name.split(".")[0])
            for recorded in json.loads(file.read_text()):
                for which, finished in (("digest", False), ("digest_after", True)):
                    lines = [
                        json.dumps(p.line(rank), separators=(",", ":")) + "\n"
                        for rank in range(recorded["tp"])
                        for p in parameters(
                            checkpoint, recorded["arch"], recorded["tp"], rank, recorded["ep"], finished
                        )
                    ]
                    made = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
                    want = recorded.get(which, recorded["digest"])  # nothing is derived where only that is recorded
                    self.assertEqual(want, made, (file.name, recorded))


DEEPSEEK_V3 = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_nextn_predict_layers": 1,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "topk_method": "noaux_tc",
    "vocab_size": 129280,
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
}
KIMI_K2 = DEEPSEEK_V3 | {
    "num_nextn_predict_layers": 0,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "n_routed_experts": 384,
    "first_k_dense_replace": 1,
    "vocab_size": 163840,
}


def outline_of(config):
    return list(generators.quantised(config, generators.deepseek_outline(config)))


def unwritten(config):
    """A checkpoint of a config's tensors with no bytes, for shapes alone."""
    tensors = {
        name: safetensors.Tensor(None, dtype, shape, 0, safetensors.size_in_bytes(dtype, shape))
        for name, dtype, shape in outline_of(config)
    }
    return types.SimpleNamespace(config=config, tensors=tensors)


class DeepseekInFull(unittest.TestCase):
    """Real sizes; nothing is read."""

    def test_tensors_and_bytes(self):
        for config, count, size in (
            (DEEPSEEK_V3, 91_991, 688_574_839_360),
            (KIMI_K2, 139_583, 1_029_173_249_888),
        ):
            outline = outline_of(config)
            self.assertEqual(len(outline), count)
            self.assertEqual(sum(safetensors.size_in_bytes(dtype, shape) for _, dtype, shape in outline), size)

    def test_shapes_of_eight_ranks(self):
        checkpoint = unwritten(DEEPSEEK_V3 | {"num_hidden_layers": 4})
        for rank in (0, 7):
            got = {p.name: (p.dtype, p.shape) for p in parameters(checkpoint, "deepseek_v3", 8, rank, finished=True)}
            for name, *want in (
                ("model.embed_tokens.weight", "BF16", 16160, 7168),
                ("model.layers.0.mlp.gate_up_proj.weight", "F8_E4M3", 4608, 7168),
                ("model.layers.3.self_attn.fused_qkv_a_proj_with_mqa.weight", "F8_E4M3", 2112, 7168),
                ("model.layers.3.self_attn.fused_qkv_a_proj_with_mqa.weight_scale_inv", "F32", 17, 56),
                ("model.layers.3.self_attn.q_b_proj.weight", "F8_E4M3", 3072, 1536),
                ("model.layers.3.self_attn.kv_b_proj.weight", "F8_E4M3", 4096, 512),
                ("model.layers.3.self_attn.kv_b_proj.weight_scale_inv", "F32", 32, 4),
                ("model.layers.3.self_attn.w_kc", "BF16", 16, 512, 128),
                ("model.layers.3.self_attn.w_vc", "BF16", 16, 128, 512),
                ("model.layers.3.self_attn.o_proj.weight", "F8_E4M3", 7168, 2048),
                ("model.layers.3.mlp.gate.e_score_correction_bias", "F32", 256),
                ("model.layers.3.mlp.experts.w13_weight", "F8_E4M3", 256, 512, 7168),
                ("model.layers.3.mlp.experts.w13_weight_scale_inv", "F32", 256, 4, 56),
                ("model.layers.3.mlp.experts.w2_weight", "F8_E4M3", 256, 7168, 256),
                ("model.layers.3.mlp.experts.w2_weight_scale_inv", "F32", 256, 56, 2),
                ("model.layers.3.mlp.shared_experts.gate_up_proj.weight", "F8_E4M3", 512, 7168),
                ("model.layers.3.mlp.shared_experts.down_proj.weight_scale_inv", "F32", 56, 2),
            ):
                self.assertEqual(got[name], (want[0], tuple(want[1:])), name)
        got = {p.name: p.shape for p in parameters(checkpoint, "deepseek_v3", 8, 5, ep=4)}
        self.assertEqual(got["model.layers.3.mlp.experts.w13_weight"], (64, 2048, 7168))
        self.assertEqual(got["model.layers.3.mlp.experts.w2_weight_scale_inv"], (64, 56, 8))
        self.assertEqual(got["model.layers.3.mlp.shared_experts.down_proj.weight"], (7168, 256))

    def test_where_blocks_end(self):
        checkpoint = unwritten(DEEPSEEK_V3 | {"num_hidden_layers": 4, "n_routed_experts": 32})
        for tp, ep, is_fine in ((1, 1, 1), (8, 1, 1), (8, 8, 1), (16, 1, 1), (16, 16, 1), (32, 1, 0), (32, 32, 0)):
            self.assertEqual(accepts(checkpoint, "deepseek_v3", tp, ep), bool(is_fine), (tp, ep))

    def test_draft_model(self):
        checkpoint = unwritten(DEEPSEEK_V3)
        got = {p.name: p.shape for p in parameters(checkpoint, "deepseek_v3_mtp", 8, 0, finished=True)}
        for name, *shape in (
            ("model.enorm.weight", 7168),
            ("model.hnorm.weight", 7168),
            ("model.eh_proj.weight", 7168, 14336),
            ("model.shared_head.norm.weight", 7168),
            ("model.decoder.input_layernorm.weight", 7168),
            ("model.decoder.self_attn.fused_qkv_a_proj_with_mqa.weight", 2112, 7168),
            ("model.decoder.self_attn.w_kc", 16, 512, 128),
            ("model.decoder.mlp.experts.w13_weight", 256, 512, 7168),
        ):
            self.assertEqual(got.pop(name), tuple(shape), name)
        self.assertEqual([name for name in got if not name.startswith("model.decoder.")], [])
        self.assertFalse(accepts(unwritten(KIMI_K2), "deepseek_v3_mtp", 8))


# 4 heads of 1 + 1 and values of 1, hidden 4, one MoE layer of 5 experts 4 wide and a shared one twice as wide.
DEEPSEEK = {
    "architectures": ["DeepseekV2ForCausalLM"],
    "hidden_size": 4,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "q_lora_rank": 3,
    "kv_lora_rank": 2,
    "qk_nope_head_dim": 2,
    "qk_rope_head_dim": 2,
    "v_head_dim": 1,
    "intermediate_size": 4,
    "moe_intermediate_size": 4,
    "n_routed_experts": 5,
    "n_shared_experts": 2,
    "first_k_dense_replace": 0,
    "topk_method": "noaux_tc",
    "vocab_size": 10,
    "attention_bias": True,
}
MLP = LAYER + "mlp."
DEEPSEEK_TENSORS = [
    numbered_rows("model.embed_tokens.weight", 10, 4),
    numbered_rows("lm_head.weight", 10, 4),
    numbered_vector("model.norm.weight", 4),
    numbered_vector(LAYER + "input_layernorm.weight", 4),
    numbered_vector(LAYER + "post_attention_layernorm.weight", 4),
    numbered_rows(LAYER + "self_attn.q_a_proj.weight", 3, 4),
    numbered_vector(LAYER + "self_attn.q_a_proj.bias", 3),
    numbered_vector(LAYER + "self_attn.q_a_layernorm.weight", 3),
    numbered_rows(LAYER + "self_attn.q_b_proj.weight", 16, 3),
    numbered_rows(LAYER + "self_attn.kv_a_proj_with_mqa.weight", 4, 4, 100),
    numbered_vector(LAYER + "self_attn.kv_a_proj_with_mqa.bias", 4, 100),
    numbered_vector(LAYER + "self_attn.kv_a_layernorm.weight", 2),
    (LAYER + "self_attn.kv_b_proj.weight", "BF16", (12, 2), struct.pack("<24H", *range(24))),
    numbered_columns(LAYER + "self_attn.o_proj.weight", 4, 4),
    numbered_vector(LAYER + "self_attn.o_proj.bias", 4, 30),
    numbered_rows(MLP + "gate.weight", 5, 4),
    (MLP + "gate.e_score_correction_bias", "F32", (5,), struct.pack("<5f", 0.5, 1, -2, 3, 4)),
    *(numbered_rows(f"{MLP}experts.{n}.gate_proj.weight", 4, 4, 10 * n) for n in range(5)),
    *(numbered_rows(f"{MLP}experts.{n}.up_proj.weight", 4, 4, 100 + 10 * n) for n in range(5)),
    *(numbered_columns(f"{MLP}experts.{n}.down_proj.weight", 4, 4) for n in range(5)),
    numbered_rows(MLP + "shared_experts.gate_proj.weight", 8, 4),
    numbered_rows(MLP + "shared_experts.up_proj.weight", 8, 4, 100),
    numbered_columns(MLP + "shared_experts.down_proj.weight", 4, 8),
]


class Deepseek(ReferenceTest):
    def rank(self, tp, ep, rank, change=(), tensors=DEEPSEEK_TENSORS):
        return self.load(tensors, DEEPSEEK | dict(change), tp, rank, "deepseek_v3", ep, True)

    def test_attention_of_one_rank(self):
        got = self.rank(2, 1, 1)
        attention = LAYER + "self_attn."
        fused = got[attention + "fused_qkv_a_proj_with_mqa.weight"]
        self.assertEqual((fused.shape, list(fused.data[::4])), ((7, 4), [0, 1, 2, 100, 101, 102, 103]))
        self.assertEqual(list(got[attention + "fused_qkv_a_proj_with_mqa.bias"].data), [0, 1, 2, 100, 101, 102, 103])
        self.assertEqual(list(got[attention + "q_b_proj.weight"].data[::3]), list(range(8, 16)))
        self.assertEqual(list(got[attention + "o_proj.weight"].data), [2, 3] * 4)
        self.assertEqual(list(got[attention + "o_proj.bias"].data), [30, 31, 32, 33])
        # Heads 2 and 3: rows 6 to 11, of which 6, 7, 9 and 10 are for keys, 8 and 11 for values.
        self.assertEqual(struct.unpack("<12H", got[attention + "kv_b_proj.weight"].data), tuple(range(12, 24)))
        w_kc, w_vc = got[attention + "w_kc"], got[attention + "w_vc"]
        self.assertEqual((w_kc.dtype, w_kc.shape, w_vc.shape), ("BF16", (2, 2, 2), (2, 1, 2)))
        self.assertEqual(struct.unpack("<8H", w_kc.data), (12, 14, 13, 15, 18, 20, 19, 21))
        self.assertEqual(struct.unpack("<4H", w_vc.data), (16, 17, 22, 23))

    def test_experts_of_each_rank(self):
        """4 ranks in 2 blocks of experts, 3 and 2, and every block splits an expert in two."""
        for rank, experts, first in ((0, (0, 1, 2), 0), (1, (0, 1, 2), 2), (2, (3, 4), 0), (3, (3, 4), 2)):
            got = self.rank(4, 2, rank)
            w13, w2 = got[MLP + "experts.w13_weight"], got[MLP + "experts.w2_weight"]
            self.assertEqual((w13.shape, w2.shape), ((len(experts), 4, 4), (len(experts), 4, 2)))
            want = [10 * n + half + first + i for n in experts for half in (0, 100) for i in (0, 1)]
            self.assertEqual(list(w13.data[::4]), want)
            self.assertEqual(list(w2.data), [first, first + 1] * 4 * len(experts))
            shared = got[MLP + "shared_experts.gate_up_proj.weight"]
            self.assertEqual(list(shared.data[::4]), [half + 2 * rank + i for half in (0, 100) for i in (0, 1)])
            self.assertEqual(got[MLP + "shared_experts.down_proj.weight"].shape, (4, 2))
            self.assertEqual(got[MLP + "gate.weight"].shape, (5, 4))
            self.assertEqual(got[MLP + "gate.e_score_correction_bias"].dtype, "F32")

    def test_what_the_config_says_is_not_there(self):
        plain = [t for t in DEEPSEEK_TENSORS if "shared_experts" not in t[0] and "e_score" not in t[0]]
        for change in ({"n_shared_experts": 0}, {"n_shared_experts": None}):
            got = self.rank(1, 1, 0, change | {"topk_method": "greedy"}, plain)
            self.assertFalse([name for name in got if "shared" in name or "e_score" in name])
        for change in ({}, {"topk_method": "noaux_tc"}, {"architectures": ["DeepseekV3ForCausalLM"]}):
            unsaid = {key: value for key, value in DEEPSEEK.items() if key != "topk_method"}
            config = unsaid | {"n_shared_experts": 0} | change
            if not change:
                self.load(plain, config, 1, 0, "deepseek_v3")
                continue
            with self.assertRaisesRegex(KeyError, "e_score_correction_bias"):
                self.load(plain, config, 1, 0, "deepseek_v3")
        with self.assertRaisesRegex(ValueError, "does not know"):
            self.rank(1, 1, 0, {"n_shared_experts": 0})

    def test_dense_layers_and_one_projection_for_queries(self):
        tensors = [t for t in DEEPSEEK_TENSORS if "mlp" not in t[0] and ".q_" not in t[0]]
        tensors += [
            numbered_rows(LAYER + "self_attn.q_proj.weight", 16, 4),
            numbered_rows(MLP + "gate_proj.weight", 4, 4),
            numbered_rows(MLP + "up_proj.weight", 4, 4, 100),
            numbered_columns(MLP + "down_proj.weight", 4, 4),
        ]
        got = self.rank(2, 2, 1, {"q_lora_rank": None, "first_k_dense_replace": 1}, tensors)
        self.assertEqual(list(got[LAYER + "self_attn.q_proj.weight"].data[::4]), list(range(8, 16)))
        self.assertEqual(got[LAYER + "self_attn.kv_a_proj_with_mqa.weight"].shape, (4, 4))
        self.assertEqual(list(got[MLP + "gate_up_proj.weight"].data[::4]), [2, 3, 102, 103])
        self.assertEqual(list(got[MLP + "down_proj.weight"].data), [2, 3] * 4)

    def test_layers_past_the_end_are_the_draft_model(self):
        draft = [
            (name.replace("layers.0", "layers.1"), *rest) for name, *rest in DEEPSEEK_TENSORS if "layers.0" in name
        ] + [
            numbered_vector("model.layers.1.enorm.weight", 4, 1),
            numbered_vector("model.layers.1.hnorm.weight", 4, 2),
            numbered_rows("model.layers.1.eh_proj.weight", 4, 8, 3),
            numbered_vector("model.layers.1.shared_head.norm.weight", 4, 4),
            numbered_rows("model.layers.1.shared_head.head.weight", 10, 4),
            numbered_rows("model.layers.1.embed_tokens.weight", 10, 4),
        ]
        config = DEEPSEEK | {"num_nextn_predict_layers": 1}
        main = self.load([*DEEPSEEK_TENSORS, *draft], config, 2, 1, "deepseek_v3", 2, True)
        self.assertEqual(main.keys(), self.rank(2, 2, 1).keys())
        got = self.load([*DEEPSEEK_TENSORS, *draft], config, 2, 1, "deepseek_v3_mtp", 2, True)
        own = {"model.enorm.weight", "model.hnorm.weight", "model.eh_proj.weight", "model.shared_head.norm.weight"}
        layer = {name.replace("layers.0", "decoder") for name in main if "layers.0" in name}
        self.assertEqual(got.keys(), own | layer)
        self.assertEqual(list(got["model.eh_proj.weight"].data[::8]), [3, 4, 5, 6])
        with self.assertRaisesRegex(ValueError, "does not know"):
            self.load([*DEEPSEEK_TENSORS, *draft], DEEPSEEK, 1, 0, "deepseek_v3")

    def test_all_ranks_together_hold_each_byte(self):
        """Ranks put together by another route than they were cut by."""
        for seed in range(30):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                made = generators.random_deepseek(random.Random(seed), folder)
                checkpoint = Checkpoint(folder)
                for tp, ep in made.valid:
                    ranks = [
                        {p.name: p for p in parameters(checkpoint, made.architecture, tp, rank, ep)}
                        for rank in range(tp)
                    ]
                    self.check_together(checkpoint, made.architecture, tp, ep, ranks)

    def check_together(self, checkpoint, architecture, tp, ep, ranks):
        config = checkpoint.config
        past = f"model.layers.{config['num_hidden_layers']}."

        def stored(name):
            if architecture == "deepseek_v3_mtp":
                name = name.replace("model.decoder.", past)
                name = name.replace("model.", past) if past not in name else name
            return checkpoint.tensors[name].read()

        def by_columns(data, height):
            pitch = len(data[0]) // height
            return b"".join(d[r * pitch : (r + 1) * pitch] for r in range(height) for d in data)

        for name, first in ranks[0].items():
            data = [rank[name].data for rank in ranks]
            if "experts.w" in name:
                self.check_experts(name, [rank[name] for rank in ranks], config["n_routed_experts"], tp, ep, stored)
            elif "fused_qkv_a" in name:
                whole = b"".join(
                    stored(name.replace("fused_qkv_a_proj_with_mqa", which))
                    for which in ("q_a_proj", "kv_a_proj_with_mqa")
                )
                self.assertEqual(data, [whole] * tp)
            elif "gate_up_proj" in name:
                half = len(data[0]) // 2
                self.assertEqual(b"".join(d[:half] for d in data), stored(name.replace("gate_up", "gate")))
                self.assertEqual(b"".join(d[half:] for d in data), stored(name.replace("gate_up", "up")))
            elif ".q_proj." in name or "_b_proj." in name:
                self.assertEqual(b"".join(data), stored(name))
            elif name.startswith(("model.embed", "lm_head")):
                self.assertEqual(b"".join(data).rstrip(b"\0"), stored(name).rstrip(b"\0"))
            elif ("o_proj." in name or "down_proj." in name) and not name.endswith(".bias"):
                self.assertEqual(by_columns(data, first.shape[0]), stored(name))
            else:
                self.assertEqual(data, [stored(name)] * tp)

    def check_experts(self, name, ranks, experts, tp, ep, stored):
        where, _, which = name.rpartition("experts.w")
        number, _, suffix = which.partition("_")
        each, seen = tp // ep, 0
        for block in range(ep):
            members = ranks[block * each : (block + 1) * each]
            data, count, height = [p.data for p in members], members[0].shape[0], members[0].shape[1]
            size = len(data[0]) // count
            for n in range(count):
                expert = [d[n * size : (n + 1) * size] for d in data]
                source = f"{where}experts.{seen + n}."
                if number == "13":
                    halves = b"".join(e[: size // 2] for e in expert), b"".join(e[size // 2 :] for e in expert)
                    self.assertEqual(halves[0], stored(f"{source}gate_proj.{suffix}"))
                    self.assertEqual(halves[1], stored(f"{source}up_proj.{suffix}"))
                else:
                    pitch = size // height
                    rows = b"".join(e[r * pitch : (r + 1) * pitch] for r in range(height) for e in expert)
                    self.assertEqual(rows, stored(f"{source}down_proj.{suffix}"))
            seen += count
        self.assertEqual(seen, experts)


class Quantisation(ReferenceTest):
    def test_numbers_of_8_bits(self):
        for byte, number in ((0, 0), (0x01, 2**-9), (0x08, 2**-6), (0x38, 1), (0x40, 2), (0x7E, 448), (0xC0, -2)):
            self.assertEqual(quantization.e4m3(byte), number)
        numbers = [quantization.e4m3(byte) for byte in range(127)]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual([byte for byte in range(256) if (n := quantization.e4m3(byte)) != n], [0x7F, 0xFF])

    def test_rounding(self):
        for bits, want in (
            (0x3F800000, 0x3F80),
            (0x3F808000, 0x3F80),  # half-way: to even
            (0x3F818000, 0x3F82),
            (0x3F808001, 0x3F81),
            (0xBFFFFFFF, 0xC000),
            (0x00008001, 0x0001),
            (0x7F7FFFFF, 0x7F80),
            (0x7F800000, 0x7F80),
        ):
            self.assertEqual(quantization.bfloat16_bits(bits), want, hex(bits))
        self.assertEqual(quantization.float32_bits(1 + 2**-24), 0x3F800000)
        self.assertEqual(quantization.float32_bits(1 + 3 * 2**-24), 0x3F800002)

    def test_the_last_block_is_short(self):
        scale = struct.pack("<6f", *(10 * i + j + 1 for i in range(3) for j in range(2)))
        got = quantization.dequantised(b"\x38" * 54, scale, (9, 6), (4, 4))
        for row, column, want in ((3, 3, 1), (3, 4, 2), (4, 3, 11), (8, 0, 21), (8, 5, 22)):
            number = struct.unpack("<f", struct.pack("<I", got[row * 6 + column] << 16))[0]
            self.assertEqual(number, want)
        scheme = quantization.scheme_of({"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]}})
        self.assertEqual([shape for _, _, shape, _ in scheme.tensors("m", 9, 6)], [(9, 6), (3, 2)])

    def test_entries_of_ignore_lists(self):
        module = "model.layers.1.self_attn.q_proj"
        for entry in (module, module[6:], "q_proj", "self_attn.q_proj", "1.self_attn.q_proj"):
            self.assertTrue(quantization.ignores(entry, module), entry)
        for entry in ("model.layers.1.self_attn", "1", "layers.1", "_proj", "q_proj.weight", "x.q_proj", ""):
            self.assertFalse(quantization.ignores(entry, module), entry)
        self.assertFalse(quantization.ignores("1.self_attn.q_proj", "model.layers.11.self_attn.q_proj"))
        self.assertTrue(quantization.ignores("model.lm_head", "lm_head"))

    # 2 heads and 2 key and value heads of 4, hidden 6, intermediate 8; blocks of 4 rows and 4 columns.
    CONFIG = {
        "hidden_size": 6,
        "num_hidden_layers": 1,
        "intermediate_size": 8,
        "num_attention_heads": 2,
        "head_dim": 4,
        "vocab_size": 10,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]},
    }

    def tensors(self, config):
        numbers = iter(range(1000))
        outline = [t[:3] for t in generators.llama_tensors(random.Random(1), config) if "rotary" not in t[0]]
        for name, dtype, shape in generators.quantised(config, outline):
            size = safetensors.size_in_bytes(dtype, shape)
            if name.endswith("_scale_inv"):
                yield name, dtype, shape, struct.pack(f"<{size // 4}f", *(next(numbers) for _ in range(size // 4)))
            else:
                yield name, dtype, shape, bytes(size)

    def test_scales_are_cut_like_their_weights(self):
        tensors = list(self.tensors(self.CONFIG))
        scale = {t[0]: struct.unpack(f"<{len(t[3]) // 4}f", t[3]) for t in tensors if t[1] == "F32"}
        for rank in (0, 1):
            got = self.load(tensors, self.CONFIG, 2, rank)
            for name, shape, pieces in (
                ("self_attn.qkv_proj", (3, 2), [("self_attn." + x, slice(2 * rank, 2 * rank + 2)) for x in "qkv"]),
                ("self_attn.o_proj", (2, 1), [("self_attn.o", slice(rank, None, 2))]),
                ("mlp.gate_up_proj", (2, 2), [("mlp." + x, slice(2 * rank, 2 * rank + 2)) for x in ("gate", "up")]),
                ("mlp.down_proj", (2, 1), [("mlp.down", slice(rank, None, 2))]),
            ):
                made = got[f"{LAYER}{name}.weight_scale_inv"]
                want = [x for source, part in pieces for x in scale[f"{LAYER}{source}_proj.weight_scale_inv"][part]]
                self.assertEqual((made.dtype, made.shape), ("F32", shape))
                self.assertEqual(list(struct.unpack(f"<{len(want)}f", made.data)), want)

    def test_a_block_is_never_cut(self):
        for change, tp, is_fine in (
            ({}, 1, True),
            ({}, 2, True),
            ({"intermediate_size": 12}, 1, True),
            ({"intermediate_size": 12}, 2, False),
            ({"intermediate_size": 10}, 1, False),  # two pieces lie one after the other
            ({"head_dim": 2}, 1, True),
            ({"head_dim": 2}, 2, False),
            ({"head_dim": 3}, 1, False),
            ({"hidden_size": 7}, 2, True),
        ):
            config = self.CONFIG | change
            tensors = list(self.tensors(config))
            with self.subTest(change=change, tp=tp):
                if is_fine:
                    self.load(tensors, config, tp, 0)
                else:
                    with self.assertRaisesRegex(ValueError, "cut a block"):
                        self.load(tensors, config, tp, 0)

    def test_ignored_modules(self):
        declared = self.CONFIG["quantization_config"]
        for ignored, is_fine in (
            (["o_proj", "model.layers.0.mlp", "qkv_proj"], True),
            (["layers.0.self_attn.q_proj", "k_proj", "self_attn.v_proj"], True),
            (["q_proj"], False),
            (["mlp.up_proj"], False),
        ):
            config = self.CONFIG | {"quantization_config": declared | {"ignored_layers": ignored}}
            tensors = list(self.tensors(config))
            with self.subTest(ignored=ignored):
                if not is_fine:
                    with self.assertRaisesRegex(ValueError, "some of its pieces"):
                        self.load(tensors, config, 1, 0)
                    continue
                got = self.load(tensors, config, 2, 0)
                plain = {p.name for p in got.values() if p.name.endswith("_proj.weight") and p.dtype != "F8_E4M3"}
                want = "o_proj" if ignored[0] == "o_proj" else "qkv_proj"
                self.assertEqual(plain, {f"{LAYER}self_attn.{want}.weight"})
                self.assertEqual(len([name for name in got if name.endswith("_scale_inv")]), 3)

    def test_what_does_not_fit_the_config(self):
        tensors = list(self.tensors(self.CONFIG))
        for name, dtype, shape in (
            ("self_attn.o_proj.weight_scale_inv", "F32", (2, 1)),
            ("self_attn.o_proj.weight_scale_inv", "BF16", (2, 2)),
            ("self_attn.o_proj.weight", "BF16", (6, 8)),
        ):
            wrong = LAYER + name, dtype, shape, bytes(safetensors.size_in_bytes(dtype, shape))
            with self.assertRaisesRegex(ValueError, "o_proj"):
                self.load([wrong if t[0] == wrong[0] else t for t in tensors], self.CONFIG, 1, 0)
        other = self.CONFIG | {"quantization_config": {"quant_method": "fp8"}}
        with self.assertRaisesRegex(ValueError, "not known"):
            self.load(tensors, other, 1, 0)

    def test_generators_reach_what_they_are_for(self):
        seen = set()
        for seed in range(120):
            for make in (generators.random_deepseek, generators.random_llama_fp8_block):
                with tempfile.TemporaryDirectory() as folder:
                    made = make(random.Random(seed), folder)
                    checkpoint = Checkpoint(folder)
                config, names = checkpoint.config, checkpoint.tensors
                quant = config.get("quantization_config")
                family = made.architecture, bool(quant)
                seen |= {family, ("refused", family, bool(made.refused)), ("tp, ep", *made.aim)}
                if quant:
                    scaled = {name.removesuffix("_scale_inv") for name in names if name.endswith("_scale_inv")}
                    plain = {name for name in names if generators.linear_of(name)} - scaled
                    seen |= {(family, "all plain", not scaled), (family, "some plain", bool(plain))}
                    bn, bk = quant["weight_block_size"]
                    for name in scaled:
                        n, k = names[name].shape
                        seen |= {(name.split(".")[-2], "ragged", n % bn > 0, k % bk > 0)}
                if made.architecture != "llama":
                    experts = config["n_routed_experts"]
                    seen |= {
                        ("q_lora", bool(config.get("q_lora_rank"))),
                        ("shared", config.get("n_shared_experts", "absent")),
                        ("router bias", any("e_score" in name for name in names)),
                        ("uneven", experts % made.aim[1] > 0),
                        ("layers past the end", config.get("num_nextn_predict_layers")),
                        ("dense", min(config["first_k_dense_replace"], 2)),
                        ("bias", config.get("attention_bias")),
                    }
        for want in [
            ("llama", True),
            ("deepseek_v3", False),
            ("deepseek_v3", True),
            ("deepseek_v3_mtp", False),
            ("deepseek_v3_mtp", True),
            ("refused", ("llama", True), True),
            ("refused", ("deepseek_v3", True), True),
            ("tp, ep", 4, 2),
            ("tp, ep", 8, 8),
            ("tp, ep", 3, 3),
            (("llama", True), "some plain", True),
            (("llama", True), "some plain", False),
            (("deepseek_v3", True), "some plain", True),
            ("kv_a_proj_with_mqa", "ragged", True, True),
            ("kv_b_proj", "ragged", True, True),
            ("kv_b_proj", "ragged", False, True),
            ("o_proj", "ragged", True, False),
            ("q_lora", True),
            ("q_lora", False),
            *(("shared", n) for n in (0, 1, 2, 3, None, "absent")),
            ("router bias", True),
            ("router bias", False),
            ("uneven", True),
            *(("layers past the end", n) for n in (None, 0, 1, 2)),
            *(("dense", n) for n in (0, 1, 2)),
            ("bias", True),
        ]:
            self.assertIn(want, seen)


if __name__ == "__main__":
    unittest.main()
