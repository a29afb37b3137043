"""Makes tests/data/tiny_*: a small random model of each other architecture, as make_tiny_deepseek.py makes its own.

NAME/, NAME.digests.json and NAME.logits.json (of Bert: of its last hidden state). `_in_one`: the same kind of model
with all experts of a layer in one tensor, as transformers 5 holds them in memory. Vision-language models have no logits
recorded.

Usage: make_tiny_families.py [NAME...]     default: all
"""

import itertools
import json
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

from with_torch import answers, from_mxfp4, logits, to_mxfp4
from make_tiny_deepseek import DATA, IDS, LOGITS, digest, make_model, save
from penstock_reference.architectures import accepts, architecture_of
from penstock_reference.checkpoint import Checkpoint

SPLITS = [(tp, ep) for tp, ep in itertools.product((1, 2, 4, 8), (1, 2, 4)) if tp % ep == 0]
BASE = dict(
    vocab_size=150,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=8,
    intermediate_size=32,
    max_position_embeddings=64,
    initializer_range=0.35,
    bos_token_id=0,
    eos_token_id=1,
)
GQA = BASE | dict(num_key_value_heads=2, head_dim=4)
MOE = GQA | dict(moe_intermediate_size=16, num_experts_per_tok=2)
MODELS = {
    "tiny_mistral": transformers.MistralConfig(**GQA),
    "tiny_qwen2": transformers.Qwen2Config(**BASE | dict(hidden_size=32, num_key_value_heads=2), tie_word_embeddings=True),
    "tiny_qwen3": transformers.Qwen3Config(**GQA),
    "tiny_qwen3_moe": transformers.Qwen3MoeConfig(**MOE, num_experts=8),
    "tiny_qwen3_moe_in_one": transformers.Qwen3MoeConfig(**MOE, num_experts=8),
    "tiny_mixtral": transformers.MixtralConfig(**{**GQA, "intermediate_size": 16}, num_local_experts=4),
    "tiny_mixtral_in_one": transformers.MixtralConfig(**{**GQA, "intermediate_size": 16}, num_local_experts=4),
    "tiny_glm4_moe": transformers.Glm4MoeConfig(
        **{**MOE, "num_hidden_layers": 3},
        n_routed_experts=4,
        n_shared_experts=1,
        first_k_dense_replace=1,
        attention_bias=True,
        use_qk_norm=True,
        n_group=1,
        topk_group=1,
    ),
    "tiny_gemma2": transformers.Gemma2Config(**GQA, query_pre_attn_scalar=4, sliding_window=16),
    "tiny_gemma3": transformers.Gemma3TextConfig(**GQA, query_pre_attn_scalar=4, sliding_window=16),
    # Window smaller than the prompt; one of MXFP4, which is made here: three blocks of 32 are cut unevenly.
    "tiny_gpt_oss": transformers.GptOssConfig(**GQA, num_local_experts=4, num_experts_per_tok=2, sliding_window=4),
    "tiny_gpt_oss_mxfp4": transformers.GptOssConfig(
        **GQA | dict(hidden_size=32, intermediate_size=96, num_hidden_layers=1),
        num_local_experts=2,
        num_experts_per_tok=1,
        sliding_window=4,
    ),
    "tiny_bert": transformers.BertConfig(**BASE),
}
TEXT = GQA | dict(rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 0], "rope_theta": 10000.0})
VISION = dict(depth=2, num_heads=4, patch_size=2)
WIDTHS = VISION | dict(hidden_size=16, out_hidden_size=24)
WITH_VISION = {
    "tiny_qwen2_vl": transformers.Qwen2VLConfig(
        text_config={key: value for key, value in TEXT.items() if key != "head_dim"},
        vision_config=VISION | dict(embed_dim=16, hidden_size=24, mlp_ratio=2),
        tie_word_embeddings=True,
    ),
    "tiny_qwen2_5_vl": transformers.Qwen2_5_VLConfig(
        text_config={key: value for key, value in TEXT.items() if key != "head_dim"},
        vision_config=WIDTHS | dict(intermediate_size=21),
    ),
    "tiny_qwen3_vl": transformers.Qwen3VLConfig(
        text_config=TEXT,
        vision_config=WIDTHS | dict(intermediate_size=24, num_position_embeddings=9, deepstack_visual_indexes=[0, 1]),
    ),
}


def in_one(model, folder):
    """Rewrites a saved folder as one file with the names that the model has in memory."""
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    for file in (*folder.glob("*.safetensors"), *folder.glob("*.index.json")):
        file.unlink()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def in_blocks(folder):
    """Rewrites a saved gpt-oss with its experts in blocks of MXFP4. @returns its tensors as numbers"""
    stored, numbers = {}, {}
    for file in (*folder.glob("*.safetensors"), *folder.glob("*.index.json")):
        for name, tensor in load_file(file).items() if file.suffix == ".safetensors" else ():
            numbers[name] = stored[name] = tensor
            if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                blocks, scales = to_mxfp4(stored.pop(name).transpose(1, 2).contiguous())
                stored[name + "_blocks"], stored[name + "_scales"] = blocks, scales
                numbers[name] = from_mxfp4(blocks, scales).transpose(1, 2)
        file.unlink()
    save_file(stored, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    names = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    config["quantization_config"] = {"modules_to_not_convert": names, "quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return {name: tensor.contiguous() for name, tensor in numbers.items()}


def make_bert(config):
    torch.manual_seed(7)
    model = transformers.BertModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape).mul(0.35).to(torch.bfloat16))
    return model


def record_answers(name, folder, config, numbers):
    """`numbers`: of a model that is not stored in them."""
    record = {
        "made_by": {"torch": torch.__version__, "transformers": transformers.__version__},
        "ids": [[i % config["vocab_size"] for i in ids] for ids in IDS],
    }
    if numbers:
        found = logits(config, numbers, record["ids"], LOGITS)
    else:
        found = answers(folder, record["ids"], LOGITS)
    record["logits"] = [[round(number, 5) for number in answer] for answer in found]
    (DATA / f"{name}.logits.json").write_text(json.dumps(record) + "\n")


def main():
    for name, config in (MODELS | WITH_VISION).items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        folder = DATA / name
        shutil.rmtree(folder, ignore_errors=True)
        for old in DATA.glob(name + ".*"):
            old.unlink()
        if name == "tiny_bert":
            model = make_bert(config)
            model.save_pretrained(folder, max_shard_size="40KB")
        else:
            model = make_model(config, transformers.AutoModelForImageTextToText if name in WITH_VISION else transformers.AutoModelForCausalLM)
            save(model, folder)
        if name.endswith("_in_one"):
            in_one(model, folder)
        numbers = in_blocks(folder) if name.endswith("_mxfp4") else None
        for file in folder.iterdir():
            file.chmod(0o644)
        checkpoint = Checkpoint(folder)
        if name not in WITH_VISION:
            record_answers(name, folder, checkpoint.config, numbers)
        architecture = architecture_of(checkpoint.config)
        lines = [
            json.dumps({"arch": architecture, "tp": tp, "ep": ep, "digest": digest(checkpoint, architecture, tp, ep, False)})
            for tp, ep in SPLITS
            if accepts(checkpoint, architecture, tp, ep)
        ]
        (DATA / f"{name}.digests.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
        print(f"{name}: {len(checkpoint.tensors)} tensors, {len(lines)} splits")


if __name__ == "__main__":
    main()
