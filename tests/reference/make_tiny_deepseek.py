"""Makes tests/data/tiny_deepseek*: small random DeepSeek models as transformers saves them, and what they must answer.

For each model NAME:  NAME/              config, several shards and their index
                      NAME.logits.json   a few token ids and logits, from transformers in float32
                      NAME.digests.json  for each tp and ep, one SHA-256 of the lines that `penstock load --digest` and
                                         `--digest-after` must write, from the reference: as the reference writes them,
                                         sorted as text, each with its line feed (all lines would be 20 times as large)

Blocks of FP8 are made here: transformers stores them only from a GPU. So is the layer for multi-token prediction.
"""

import hashlib
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

from with_torch import from_blocks, logits, to_blocks
from penstock_reference.architectures import parameters
from penstock_reference.checkpoint import Checkpoint
from penstock_reference.generators import linear_of
from penstock_reference.quantization import scheme_of

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
SPLITS = [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)]
IDS = [[3, 141, 59, 26, 53, 58, 97], [150, 7, 7, 1, 88]]
LOGITS = 16  # of the last position, the first ones

BASE = dict(
    vocab_size=160,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=4,
    n_routed_experts=8,
    num_experts_per_tok=3,
    first_k_dense_replace=1,
    max_position_embeddings=256,
    initializer_range=0.35,
    bos_token_id=0,
    eos_token_id=1,
)
QUANTIZATION = {
    "quant_method": "fp8",
    "fmt": "e4m3",
    "activation_scheme": "dynamic",
    "weight_block_size": [16, 16],
    "modules_to_not_convert": ["lm_head", "model.layers.1.self_attn.o_proj", "layers.2.mlp.shared_experts.down_proj"],
}
MODELS = {
    # Sigmoid routing in groups, with a router bias. transformers writes no topk_method, and num_nextn_predict_layers 1
    # although it stores no such layer.
    "tiny_deepseek": transformers.DeepseekV3Config(
        **BASE,
        hidden_size=32,
        intermediate_size=56,
        moe_intermediate_size=16,
        q_lora_rank=20,
        kv_lora_rank=12,
        qk_nope_head_dim=8,
        qk_rope_head_dim=4,
        v_head_dim=6,
        n_shared_experts=1,
        n_group=4,
        topk_group=2,
    ),
    # Version 2 as in V2-Lite: queries from one matrix, two shared experts, greedy softmax routing.
    "tiny_deepseek_v2lite": transformers.DeepseekV2Config(
        **BASE,
        hidden_size=32,
        intermediate_size=56,
        moe_intermediate_size=12,
        q_lora_rank=None,
        kv_lora_rank=16,
        qk_nope_head_dim=6,
        qk_rope_head_dim=4,
        v_head_dim=8,
        n_shared_experts=2,
        topk_method="greedy",
    ),
    # Blocks of 16 x 16. The last ones are short: of kv_a_proj_with_mqa (40 rows), and wherever 40 or 24 is a size.
    "tiny_deepseek_fp8": transformers.DeepseekV3Config(
        **BASE,
        hidden_size=40,
        intermediate_size=64,
        moe_intermediate_size=64,
        q_lora_rank=32,
        kv_lora_rank=24,
        qk_nope_head_dim=16,
        qk_rope_head_dim=16,
        v_head_dim=16,
        n_shared_experts=1,
        n_group=2,
        topk_group=1,
        topk_method="noaux_tc",
        num_nextn_predict_layers=1,
        quantization_config=QUANTIZATION,
    ),
}


def make_model(config, kind=transformers.AutoModelForCausalLM):
    """Weights that bf16 can hold, in float32. Only they are rounded: the router's bias is not."""
    torch.manual_seed(7)
    model = kind.from_config(config, dtype=torch.float32).eval()
    spread = config.get_text_config().initializer_range
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.normal_(1.0, 0.2)
            else:
                parameter.normal_(0.0, spread)
            parameter.copy_(parameter.to(torch.bfloat16))
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.normal_(0.0, 0.2)
    return model


def save(model, folder):
    """As transformers does: numbers in bf16, the router's bias in float32."""
    biases = {name: buffer for name, buffer in model.named_buffers() if name.endswith("e_score_correction_bias")}
    model.to(torch.bfloat16)
    for name, buffer in biases.items():
        module, _, name = name.rpartition(".")
        setattr(model.get_submodule(module), name, buffer)
    model.save_pretrained(folder, max_shard_size="40KB")


def draft_layer(tensors, config):
    """A layer for multi-token prediction: shaped like the last layer, other numbers, and its own tensors before."""
    torch.manual_seed(8)
    hidden, last = config.hidden_size, config.num_hidden_layers - 1
    shapes = {
        name.replace(f"layers.{last}.", f"layers.{last + 1}."): tensor
        for name, tensor in tensors.items()
        if f"layers.{last}." in name
    }
    layer = f"model.layers.{last + 1}."
    made = {name: 0.35 * torch.randn(tensor.shape).to(tensor.dtype) for name, tensor in shapes.items()}
    for name, *shape in (
        ("enorm.weight", hidden),
        ("hnorm.weight", hidden),
        ("eh_proj.weight", hidden, 2 * hidden),
        ("shared_head.norm.weight", hidden),
    ):
        made[layer + name] = torch.randn(shape).to(torch.bfloat16)
    made[layer + "embed_tokens.weight"] = tensors["model.embed_tokens.weight"].clone()
    made[layer + "shared_head.head.weight"] = tensors["lm_head.weight"].clone()
    return made


def quantise(folder, config):
    """Rewrites a saved folder: linears in blocks of FP8, and one file more with the layer for multi-token prediction."""
    scheme = scheme_of(config.to_dict())
    files = {file: load_file(file) for file in sorted(folder.glob("*.safetensors"))}
    everything = {name: tensor for tensors in files.values() for name, tensor in tensors.items()}
    files[folder / "model-mtp.safetensors"] = draft_layer(everything, config)
    owner, size = {}, 0
    for file, tensors in files.items():
        stored = {}
        for name, tensor in tensors.items():
            linear = linear_of(name)
            if linear and len(scheme.tensors(linear[1], *tensor.shape)) == 2:
                stored[name], stored[name + "_scale_inv"] = to_blocks(tensor, scheme.block)
            else:
                stored[name] = tensor
        save_file(stored, file, {"format": "pt"})
        owner |= {name: file.name for name in stored}
        size += sum(tensor.nbytes for tensor in stored.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(owner.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def plain_tensors(folder, config):
    """The main model's tensors, as numbers."""
    stored = {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}
    past = f"model.layers.{config.num_hidden_layers}."
    return {
        name: (
            from_blocks(tensor, stored[name + "_scale_inv"], QUANTIZATION["weight_block_size"])
            if name + "_scale_inv" in stored
            else tensor
        )
        for name, tensor in stored.items()
        if not name.startswith(past) and not name.endswith("_scale_inv")
    }


def digest(checkpoint, architecture, tp, ep, finished):
    lines = [
        json.dumps(parameter.line(rank), separators=(",", ":"), ensure_ascii=False) + "\n"
        for rank in range(tp)
        for parameter in parameters(checkpoint, architecture, tp, rank, ep, finished)
    ]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def main():
    for name, config in MODELS.items():
        folder = DATA / name
        shutil.rmtree(folder, ignore_errors=True)
        for old in DATA.glob(name + ".*"):
            old.unlink()
        save(make_model(config), folder)
        architectures = ["deepseek_v3"]
        if name.endswith("_fp8"):
            quantise(folder, config)
            architectures.append("deepseek_v3_mtp")
        for file in folder.iterdir():
            file.chmod(0o644)
        checkpoint = Checkpoint(folder)
        answers = logits(checkpoint.config, plain_tensors(folder, config), IDS, LOGITS)
        record = {
            "made_by": {"torch": torch.__version__, "transformers": transformers.__version__},
            "ids": IDS,
            "logits": [[round(number, 5) for number in answer] for answer in answers],
        }
        (DATA / f"{name}.logits.json").write_text(json.dumps(record) + "\n")
        digests = [
            {
                "arch": architecture,
                "tp": tp,
                "ep": ep,
                "digest": digest(checkpoint, architecture, tp, ep, False),
                "digest_after": digest(checkpoint, architecture, tp, ep, True),
            }
            for architecture in architectures
            for tp, ep in SPLITS
        ]
        text = ",\n".join(json.dumps(each) for each in digests)
        (DATA / f"{name}.digests.json").write_text(f"[\n{text}\n]\n")
        print(f"{name}: {len(checkpoint.tensors)} tensors, {answers[0][:3]}")


if __name__ == "__main__":
    main()
