"""A model put together again from Penstock's parameters answers as the one that was stored.

Usage: test_logits_with_torch.py [PROGRAM]     PROGRAM is a `penstock`; default: the variable PENSTOCK, else the reference

The program writes each rank's parameters (`--dump`), torch joins the ranks, takes apart what is fused and multiplies the
blocks of FP8 by their scales, and transformers answers in float32. Run by make.sh.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

from with_torch import answers, from_blocks, from_mxfp4, logits

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
DTYPES = {"BF16": torch.bfloat16, "F32": torch.float32, "F8_E4M3": torch.float8_e4m3fn, "U8": torch.uint8}
program = os.environ.get("PENSTOCK")


def load(folder, tp, ep):
    """By rank and name, the parameters that the program makes of a folder."""
    command = [program, "load"] if program else [sys.executable, "-m", "penstock_reference"]
    with tempfile.TemporaryDirectory() as made:
        where = ["--dump", f"{made}/dump", "--digest", f"{made}/digest"]
        subprocess.run([*command, str(folder), "--tp", str(tp), "--ep", str(ep), *where], cwd=HERE, check=True)
        ranks = [{} for _ in range(tp)]
        for line in map(json.loads, pathlib.Path(f"{made}/digest").read_text().splitlines()):
            data = bytearray(pathlib.Path(f"{made}/dump/rank{line['rank']}/{line['name']}").read_bytes())
            tensor = torch.frombuffer(data, dtype=DTYPES[line["dtype"]]).reshape(line["shape"])
            ranks[line["rank"]][line["name"]] = tensor
    return ranks


def joined(tensors, axis):
    """torch.cat, also of F8_E4M3."""
    if tensors[0].dtype != torch.float8_e4m3fn:
        return torch.cat(tensors, axis)
    return torch.cat([tensor.view(torch.uint8) for tensor in tensors], axis).view(torch.float8_e4m3fn)


def experts_of_gpt_oss(name, ranks, config, ep):
    """All experts of a layer in one tensor; what ranks have beyond the real width is zeros, and so are biases behind the
    first of the ranks that share an expert."""
    scope, _, suffix = name.replace(".w13_", "*").replace(".w2_", "*").partition("*")
    each, width, both = len(ranks) // ep, config["intermediate_size"], ".w13_" in name
    packed = "quantization_config" in config
    axis = 1 if suffix == "weight_bias" or both == packed else 2
    real = {"weight": width // 2, "weight_scale": width // 32}.get(suffix, width) if packed else width
    real = 2 * width if both else real
    blocks = []
    for block in range(ep):
        members = ranks[block * each : (block + 1) * each]
        if suffix == "weight_bias" and not both:
            if any(rank.any() for rank in members[1:]):
                raise ValueError(f"{name} is not zero on all ranks but the first")
            blocks.append(members[0])
            continue
        whole = torch.cat(members, axis)
        if whole.narrow(axis, real, whole.shape[axis] - real).any():
            raise ValueError(f"{name} is not zero behind its real width")
        blocks.append(whole.narrow(axis, 0, real))
    ends = {"weight": "_blocks" if packed else "", "weight_scale": "_scales", "weight_bias": "_bias"}
    tensor = torch.cat(blocks)
    if packed and suffix == "weight":
        tensor = tensor.unflatten(2, (-1, 16))
    yield f"{scope}.{'gate_up_proj' if both else 'down_proj'}{ends[suffix]}", tensor


def take_apart(name, ranks, config, ep):
    """The tensors, under public names, that one parameter holds on all ranks."""
    if ".experts.w" in name and config["model_type"] == "gpt_oss":
        yield from experts_of_gpt_oss(name, ranks, config, ep)
        return
    if ".experts.w13_" in name or ".experts.w2_" in name:
        scope, _, suffix = name.replace(".w13_", "*").replace(".w2_", "*").partition("*")
        each, expert = len(ranks) // ep, 0
        names = ("w1", "w3", "w2") if "block_sparse_moe" in scope else ("gate_proj", "up_proj", "down_proj")
        for block in range(ep):
            members = ranks[block * each : (block + 1) * each]
            for matrices in zip(*members):  # one expert, as its ranks hold it
                if ".w2_" in name:
                    yield f"{scope}.{expert}.{names[2]}.{suffix}", joined(matrices, 1)
                else:
                    gate, up = zip(*(matrix.chunk(2) for matrix in matrices))
                    yield f"{scope}.{expert}.{names[0]}.{suffix}", joined(gate, 0)
                    yield f"{scope}.{expert}.{names[1]}.{suffix}", joined(up, 0)
                expert += 1
        return
    module, _, suffix = name.rpartition(".")
    scope, _, module = module.rpartition(".")
    if module in ("embed_tokens", "lm_head", "word_embeddings") and len(ranks[0]) < config["vocab_size"]:
        yield name, joined(ranks, 0)[: config["vocab_size"]]
    elif module in ("embed_tokens", "lm_head", "word_embeddings"):
        yield name, ranks[0][: config["vocab_size"]]
    elif module in ("qkv_proj", "qkv"):
        heads = config["num_attention_heads"]
        key_heads = config.get("num_key_value_heads", heads)
        size = config.get("head_dim") or config["hidden_size"] // heads
        q, kv = heads // len(ranks) * size, max(1, key_heads // len(ranks)) * size
        copies = max(1, len(ranks) // key_heads)  # of each key and value head
        pieces = list(zip(*(rank.split([q, kv, kv]) for rank in ranks)))
        for which, parts, every in zip(("query", "key", "value"), pieces, (1, copies, copies)):
            which = which if module == "qkv" else f"{which[0]}_proj"
            yield f"{scope}.{which}.{suffix}", joined(parts[::every], 0)
    elif module == "gate_up_proj":
        gate, up = zip(*(rank.chunk(2) for rank in ranks))
        yield f"{scope}.gate_proj.{suffix}", joined(gate, 0)
        yield f"{scope}.up_proj.{suffix}", joined(up, 0)
    elif suffix == "sinks":
        yield name, joined(ranks, 0)
    elif module in ("q_proj", "q_b_proj", "kv_b_proj") or name.endswith("intermediate.dense." + suffix):
        yield name, joined(ranks, 0)
    elif suffix != "bias" and (module in ("o_proj", "down_proj") or name.endswith("output.dense." + suffix)):
        yield name, joined(ranks, 1)
    else:
        if not all(torch.equal(rank.view(torch.uint8), ranks[0].view(torch.uint8)) for rank in ranks):
            raise ValueError(f"{name} is not the same on all ranks")
        if module == "fused_qkv_a_proj_with_mqa":
            rows = config["q_lora_rank"]
            if suffix == "weight_scale_inv":
                rows //= config["quantization_config"]["weight_block_size"][0]
            yield f"{scope}.q_a_proj.{suffix}", ranks[0][:rows]
            yield f"{scope}.kv_a_proj_with_mqa.{suffix}", ranks[0][rows:]
        else:
            yield name, ranks[0]


def stored_model(ranks, config, ep):
    """Public names and numbers."""
    tensors = {}
    for name in ranks[0]:
        tensors |= take_apart(name, [rank[name] for rank in ranks], config, ep)
    scales = {name: tensors.pop(name) for name in list(tensors) if name.endswith("_scale_inv")}
    for name, scale in scales.items():
        weight = name.removesuffix("_scale_inv")
        tensors[weight] = from_blocks(tensors[weight], scale, config["quantization_config"]["weight_block_size"])
    for name in [name for name in tensors if name.endswith("_blocks")]:
        module = name.removesuffix("_blocks")
        tensors[module] = from_mxfp4(tensors.pop(name), tensors.pop(module + "_scales")).transpose(1, 2)
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


class Logits(unittest.TestCase):
    def check(self, name):
        folder = DATA / name
        config, record = (
            json.loads(path.read_text()) for path in (folder / "config.json", DATA / f"{name}.logits.json")
        )
        want = record["logits"]
        if "quantization_config" not in config:
            self.same(answers(folder, record["ids"], len(want[0])), want)
        for tp, ep in ((1, 1), (4, 2)):
            with self.subTest(tp=tp, ep=ep, program=program or "the reference"):
                tensors = stored_model(load(folder, tp, ep), config, ep)
                self.same(logits(config, tensors, record["ids"], len(want[0])), want)

    def same(self, got, want):
        torch.testing.assert_close(torch.tensor(got), torch.tensor(want), rtol=1e-4, atol=1e-4)

    def test_latent_attention_and_experts(self):
        self.check("tiny_deepseek")

    def test_version_2_without_latent_queries(self):
        self.check("tiny_deepseek_v2lite")

    def test_blocks_of_fp8(self):
        self.check("tiny_deepseek_fp8")

    def test_other_architectures(self):
        names = sorted(path.name.split(".")[0] for path in DATA.glob("tiny_*.logits.json"))
        others = [name for name in names if "deepseek" not in name]
        self.assertGreaterEqual(len(others), 13)
        for name in others:
            with self.subTest(name):
                self.check(name)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        program = sys.argv.pop(1)
    if program:
        program = str(pathlib.Path(program).resolve())
    unittest.main()
