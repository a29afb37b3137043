"""The parameters of one rank, for each architecture."""

import re

from .parameter import Parameter, columns, row_bytes, rows, stacked, whole


def as_stored(checkpoint, tp, rank):
    """Every tensor under its own name, whole on every rank."""
    del tp, rank
    for name, tensor in checkpoint.tensors.items():
        yield whole(name, tensor)


def share(what, total, tp, rank):
    """(first, count) of the equal part of `rank`."""
    if total % tp:
        raise ValueError(f"{what}: {total} does not divide by {tp}")
    return rank * (total // tp), total // tp


def vocabulary_part(name, tensor, tp, rank):
    """Rows padded with zeros to a multiple of 64, then split."""
    vocabulary = tensor.shape[0]
    padded = -(-vocabulary // 64) * 64
    first, count = share("padded vocabulary", padded, tp, rank)
    stored = max(0, min(vocabulary, first + count) - first)
    data = rows(tensor, first, stored) if stored else b""
    zeros = bytes((count - stored) * row_bytes(tensor))
    return Parameter(name, tensor.dtype, (count, *tensor.shape[1:]), data + zeros, len(data))


def llama(checkpoint, tp, rank):
    config, tensors = checkpoint.config, dict(checkpoint.tensors)
    hidden, layers, intermediate = (config[k] for k in ("hidden_size", "num_hidden_layers", "intermediate_size"))
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim") or hidden // heads
    tied = config.get("tie_word_embeddings", False)
    attention_bias, mlp_bias = config.get("attention_bias", False), config.get("mlp_bias", False)

    def take(name, *shape):
        tensor = tensors.pop(name)
        if tensor.shape != shape:
            raise ValueError(f"{name} is {tensor.shape}, not {shape}")
        return tensor

    # Which heads this rank computes: an equal part of the query heads; key and value heads likewise,
    # or, where there are more ranks than heads, one head that several neighbouring ranks share.
    q_first, q_count = share("attention heads", heads, tp, rank)
    if tp < kv_heads:
        kv_first, kv_count = share("key and value heads", kv_heads, tp, rank)
    else:
        _, ranks_a_head = share("ranks for each key and value head", tp, kv_heads, 0)
        kv_first, kv_count = rank // ranks_a_head, 1
    i_first, i_count = share("intermediate size", intermediate, tp, rank)

    yield vocabulary_part(
        "model.embed_tokens.weight", take("model.embed_tokens.weight", config["vocab_size"], hidden), tp, rank
    )

    for n in range(layers):
        layer = f"model.layers.{n}."
        for norm in ("input_layernorm.weight", "post_attention_layernorm.weight"):
            yield whole(layer + norm, take(layer + norm, hidden))

        attention = layer + "self_attn."
        for part, width in [("weight", (hidden,))] + [("bias", ())] * attention_bias:
            pieces = []
            for which, all_heads, first, count in (
                ("q", heads, q_first, q_count),
                ("k", kv_heads, kv_first, kv_count),
                ("v", kv_heads, kv_first, kv_count),
            ):
                tensor = take(f"{attention}{which}_proj.{part}", all_heads * head_dim, *width)
                pieces.append((tensor, first * head_dim, count * head_dim))
            yield stacked(f"{attention}qkv_proj.{part}", pieces)

        tensor = take(attention + "o_proj.weight", hidden, heads * head_dim)
        data = columns(tensor, q_first * head_dim, q_count * head_dim)
        yield Parameter(attention + "o_proj.weight", tensor.dtype, (hidden, q_count * head_dim), data, len(data))
        if attention_bias:
            yield whole(attention + "o_proj.bias", take(attention + "o_proj.bias", hidden))

        mlp = layer + "mlp."
        for part, width in [("weight", (hidden,))] + [("bias", ())] * mlp_bias:
            gate, up = (take(f"{mlp}{which}_proj.{part}", intermediate, *width) for which in ("gate", "up"))
            yield stacked(f"{mlp}gate_up_proj.{part}", [(gate, i_first, i_count), (up, i_first, i_count)])

        tensor = take(mlp + "down_proj.weight", hidden, intermediate)
        data = columns(tensor, i_first, i_count)
        yield Parameter(mlp + "down_proj.weight", tensor.dtype, (hidden, i_count), data, len(data))
        if mlp_bias:
            yield whole(mlp + "down_proj.bias", take(mlp + "down_proj.bias", hidden))

    yield whole("model.norm.weight", take("model.norm.weight", hidden))
    if tied:
        tensors.pop("lm_head.weight", None)
    else:
        yield vocabulary_part("lm_head.weight", take("lm_head.weight", config["vocab_size"], hidden), tp, rank)

    left = [name for name in tensors if not re.search(r"\.rotary_emb\.(inv_freq|cos_cached|sin_cached)$", name)]
    if left:
        raise ValueError(f"tensors that Llama does not know: {left}")


ARCHITECTURES = {"llama": llama, "as_stored": as_stored}


def parameters(checkpoint, architecture, tp, rank):
    return ARCHITECTURES[architecture](checkpoint, tp, rank)


def possible_tp(config, most=8):
    """The sizes of tensor parallelism that a Llama config allows."""
    heads, padded = config["num_attention_heads"], -(-config["vocab_size"] // 64) * 64
    kv_heads = config.get("num_key_value_heads") or heads
    return [
        tp
        for tp in range(1, most + 1)
        if heads % tp == 0
        and (kv_heads % tp == 0 or tp % kv_heads == 0)
        and config["intermediate_size"] % tp == 0
        and padded % tp == 0
    ]
