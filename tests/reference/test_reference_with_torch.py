"""The reference against torch: transformers opens the tiny models, torch cuts and joins. Run by make.sh."""

import json
import pathlib
import random
import sys
import tempfile
import unittest

import torch
import transformers
from safetensors import safe_open

from with_torch import from_blocks

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from penstock_reference import generators  # noqa: E402
from penstock_reference.architectures import parameters  # noqa: E402
from penstock_reference.checkpoint import Checkpoint  # noqa: E402

DATA = HERE.parent / "data"
DTYPES = {torch.bfloat16: "BF16", torch.float32: "F32", torch.float16: "F16"}


def expected(model, tp, rank):
    """Megatron's cuts, with torch."""
    config, state = model.config, model.state_dict()
    kv_heads = config.num_key_value_heads
    attention_bias, mlp_bias = config.attention_bias, config.mlp_bias

    def heads(tensor, count):
        each = tensor.unflatten(0, (count, config.head_dim))
        part = each.repeat_interleave(max(1, tp // count), 0).chunk(tp)[rank]
        return part.flatten(0, 1)

    def vocabulary(tensor):
        rows = -tensor.shape[0] % 64
        return torch.nn.functional.pad(tensor, (0, 0, 0, rows)).chunk(tp)[rank]

    yield "model.embed_tokens.weight", vocabulary(state["model.embed_tokens.weight"])
    yield "model.norm.weight", state["model.norm.weight"]
    if not config.tie_word_embeddings:
        yield "lm_head.weight", vocabulary(state["lm_head.weight"])
    for n in range(config.num_hidden_layers):
        layer = f"model.layers.{n}."
        for part, is_there in (("weight", True), ("bias", attention_bias)):
            if is_there:
                at = layer + "self_attn."
                q, k, v = (state[f"{at}{x}_proj.{part}"] for x in "qkv")
                yield f"{at}qkv_proj.{part}", torch.cat(
                    [heads(q, config.num_attention_heads), heads(k, kv_heads), heads(v, kv_heads)]
                )
        for part, is_there in (("weight", True), ("bias", mlp_bias)):
            if is_there:
                yield f"{layer}mlp.gate_up_proj.{part}", torch.cat(
                    [state[f"{layer}mlp.{x}_proj.{part}"].chunk(tp)[rank] for x in ("gate", "up")]
                )
        for name, bias in (("self_attn.o_proj", attention_bias), ("mlp.down_proj", mlp_bias)):
            yield layer + name + ".weight", state[layer + name + ".weight"].chunk(tp, dim=1)[rank]
            if bias:
                yield layer + name + ".bias", state[layer + name + ".bias"]
        for norm in ("input_layernorm.weight", "post_attention_layernorm.weight"):
            yield layer + norm, state[layer + norm]


class WithTorch(unittest.TestCase):
    def test_tiny_models(self):
        records = sorted(DATA.glob("tiny_llama_*.generate.json"))
        self.assertGreaterEqual(len(records), 3)
        for record in records:
            name = record.name.split(".")[0]
            model = transformers.AutoModelForCausalLM.from_pretrained(DATA / name, dtype=torch.bfloat16)
            for tp in json.loads(record.read_text())["tp"]:
                for rank in range(tp):
                    with self.subTest(name=name, tp=tp, rank=rank):
                        want = {
                            n: (DTYPES[t.dtype], tuple(t.shape), t.contiguous().view(torch.uint8).numpy().tobytes())
                            for n, t in expected(model, tp, rank)
                        }
                        got = {
                            p.name: (p.dtype, p.shape, p.data)
                            for p in parameters(Checkpoint(DATA / name), "llama", tp, rank)
                        }
                        self.assertEqual(got, want)

    def check_absorbed(self, folder, tp, ep):
        """w_kc and w_vc, from kv_b_proj as safetensors and torch read it."""
        checkpoint, checked = Checkpoint(folder), 0
        config = checkpoint.config
        heads, nope, value = (config[k] for k in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
        for rank in range(tp):
            got = {p.name: p for p in parameters(checkpoint, "deepseek_v3", tp, rank, ep, finished=True) if p.derived}
            for n in range(config["num_hidden_layers"]):
                layer = f"model.layers.{n}.self_attn."
                name = layer + "kv_b_proj.weight"
                with safe_open(checkpoint.tensors[name].path, "pt") as file:
                    w = file.get_tensor(name)
                if w.dtype == torch.float8_e4m3fn:
                    with safe_open(checkpoint.tensors[name + "_scale_inv"].path, "pt") as file:
                        scale = file.get_tensor(name + "_scale_inv")
                    w = from_blocks(w, scale, config["quantization_config"]["weight_block_size"]).to(torch.bfloat16)
                w_k, w_v = w.unflatten(0, (heads, nope + value)).chunk(tp)[rank].split([nope, value], 1)
                for part, want in (("w_kc", w_k.transpose(1, 2)), ("w_vc", w_v)):
                    p = got[layer + part]
                    self.assertEqual((p.dtype, p.shape), ("BF16", tuple(want.shape)))
                    self.assertEqual(p.data, want.contiguous().view(torch.uint8).numpy().tobytes())
                    checked += 1
        return checked

    def test_what_is_derived_for_latent_attention(self):
        for name in ("tiny_deepseek", "tiny_deepseek_v2lite", "tiny_deepseek_fp8"):
            for tp, ep in ((1, 1), (4, 2)):
                with self.subTest(name=name, tp=tp):
                    self.assertEqual(self.check_absorbed(DATA / name, tp, ep), 6 * tp)
        for seed in range(30):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                made = generators.random_deepseek(random.Random(seed), folder)
                if made.architecture == "deepseek_v3":
                    self.check_absorbed(folder, *made.aim)


if __name__ == "__main__":
    unittest.main()
