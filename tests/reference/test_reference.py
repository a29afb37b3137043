"""The reference against cases worked out by hand, against itself, and against the recorded digests."""

import hashlib
import json
import pathlib
import random
import struct
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from penstock_reference import generators, safetensors  # noqa: E402
from penstock_reference.architectures import parameters, possible_tp  # noqa: E402
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


class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def load(self, tensors, config, tp, rank, architecture="llama"):
        (self.folder / "config.json").write_text(json.dumps(config))
        safetensors.write_file(self.folder / "model.safetensors", tensors)
        return {p.name: p for p in parameters(Checkpoint(self.folder), architecture, tp, rank)}

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


if __name__ == "__main__":
    unittest.main()
