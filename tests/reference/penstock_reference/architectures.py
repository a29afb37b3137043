"""The parameters of one rank, for each architecture."""

import dataclasses
import re
import struct

from .parameter import Parameter, whole
from .quantization import dequantised
from .rank import Rank, share


def as_stored(mine):
    """Every tensor under its own name, whole on every rank."""
    for name, tensor in mine.tensors.items():
        yield whole(name, tensor)


def embedding(mine):
    yield mine.vocabulary("model.embed_tokens.weight", mine.config["vocab_size"], mine.config["hidden_size"])


def norm_and_head(mine):
    yield mine.whole("model.norm.weight", mine.config["hidden_size"])
    if mine.config.get("tie_word_embeddings", False):
        mine.tensors.pop("lm_head.weight", None)
    else:
        yield mine.vocabulary("lm_head.weight", mine.config["vocab_size"], mine.config["hidden_size"])


def two_norms(mine, source, target):
    for norm in (".input_layernorm.weight", ".post_attention_layernorm.weight"):
        yield mine.whole(source + norm, mine.config["hidden_size"], target=target + norm)


def llama(mine):
    config, tp, rank = mine.config, mine.tp, mine.rank
    hidden, layers, intermediate = (config[k] for k in ("hidden_size", "num_hidden_layers", "intermediate_size"))
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim") or hidden // heads
    attention_bias, mlp_bias = config.get("attention_bias", False), config.get("mlp_bias", False)

    # Which heads this rank computes: an equal part of the query heads; key and value heads likewise,
    # or, where there are more ranks than heads, one head that several neighbouring ranks share.
    q_first, q_count = share("attention heads", heads, tp, rank)
    if tp < kv_heads:
        kv_first, kv_count = share("key and value heads", kv_heads, tp, rank)
    else:
        _, ranks_a_head = share("ranks for each key and value head", tp, kv_heads, 0)
        kv_first, kv_count = rank // ranks_a_head, 1

    yield from embedding(mine)
    for n in range(layers):
        layer = f"model.layers.{n}"
        yield from two_norms(mine, layer, layer)
        attention = layer + ".self_attn."
        pieces = []
        for which, all_heads, first, count in (
            ("q_proj", heads, q_first, q_count),
            ("k_proj", kv_heads, kv_first, kv_count),
            ("v_proj", kv_heads, kv_first, kv_count),
        ):
            linear = mine.linear(attention + which, all_heads * head_dim, hidden, attention_bias)
            pieces.append((linear, first * head_dim, count * head_dim))
        yield from mine.merged(attention + "qkv_proj", *pieces)
        o_proj = mine.linear(attention + "o_proj", hidden, heads * head_dim, attention_bias)
        yield from mine.row_parallel(attention + "o_proj", o_proj, q_first * head_dim, q_count * head_dim)
        yield from mine.gated_mlp(layer + ".mlp", layer + ".mlp", hidden, intermediate, mlp_bias)
    yield from norm_and_head(mine)
    mine.finish()


def absorbed(config, attention, weight, scale=None):
    """What an engine derives of kv_b_proj so as to attend in the latent space: w_kc and w_vc of its heads, in BF16."""
    nope, value, latent = config["qk_nope_head_dim"], config["v_head_dim"], config["kv_lora_rank"]
    heads = range(weight.shape[0] // (nope + value))
    if scale is None and weight.dtype != "BF16":
        raise ValueError(f"{weight.name} is {weight.dtype}, not BF16 or blocks of F8_E4M3")

    def matrix():
        if scale is None:
            return struct.unpack(f"<{len(heads) * (nope + value) * latent}H", weight.data)
        block = config["quantization_config"]["weight_block_size"]
        return dequantised(weight.data, scale.data, weight.shape, block)

    def w_kc():
        w = matrix()
        return [w[(h * (nope + value) + n) * latent + k] for h in heads for k in range(latent) for n in range(nope)]

    def w_vc():
        w = matrix()
        first = [h * (nope + value) + nope for h in heads]
        return [w[(row + v) * latent + k] for row in first for v in range(value) for k in range(latent)]

    def parameter(name, shape, elements):
        def read():
            bits = elements()
            return struct.pack(f"<{len(bits)}H", *bits)

        return Parameter(f"{attention}.{name}", "BF16", shape, read, 0, derived=True)

    yield parameter("w_kc", (len(heads), latent, nope), w_kc)
    yield parameter("w_vc", (len(heads), value, latent), w_vc)


def mla(mine, source, target):
    """Multi-head latent attention: the projections into the latent space are whole on every rank."""
    config = mine.config
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    q_rank, kv_rank = config.get("q_lora_rank"), config["kv_lora_rank"]
    nope, rope, value = (config[k] for k in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    bias = config.get("attention_bias", False)
    first, count = share("attention heads", heads, mine.tp, mine.rank)

    kv_a = mine.linear(f"{source}.kv_a_proj_with_mqa", kv_rank + rope, hidden, bias)
    if q_rank:
        q_a = mine.linear(f"{source}.q_a_proj", q_rank, hidden, bias)
        yield from mine.replicated(f"{target}.fused_qkv_a_proj_with_mqa", q_a, kv_a)
        norm = "q_a_layernorm.weight"
        yield mine.whole(f"{source}.{norm}", q_rank, target=f"{target}.{norm}")
        q, q_in = "q_b_proj", q_rank
    else:
        yield from mine.replicated(f"{target}.kv_a_proj_with_mqa", kv_a)
        q, q_in = "q_proj", hidden
    linear = mine.linear(f"{source}.{q}", heads * (nope + rope), q_in)
    yield from mine.column_parallel(f"{target}.{q}", linear, first * (nope + rope), count * (nope + rope))
    norm = "kv_a_layernorm.weight"
    yield mine.whole(f"{source}.{norm}", kv_rank, target=f"{target}.{norm}")
    linear = mine.linear(f"{source}.kv_b_proj", heads * (nope + value), kv_rank)
    kv_b = list(mine.column_parallel(f"{target}.kv_b_proj", linear, first * (nope + value), count * (nope + value)))
    yield from kv_b
    if mine.finished:
        yield from absorbed(config, target, *kv_b)
    linear = mine.linear(f"{source}.o_proj", hidden, heads * value, bias)
    yield from mine.row_parallel(f"{target}.o_proj", linear, first * value, count * value)


def router_has_bias(config):
    """Where the config does not say (transformers writes no topk_method), version 3 has one."""
    return (
        config.get("topk_method", "noaux_tc" if "DeepseekV3ForCausalLM" in config["architectures"] else "greedy")
        == "noaux_tc"
    )


def deepseek_moe(mine, source, target):
    config = mine.config
    hidden, experts = config["hidden_size"], config["n_routed_experts"]
    intermediate, shared = config["moe_intermediate_size"], config.get("n_shared_experts") or 0
    yield mine.whole(f"{source}.gate.weight", experts, hidden, target=f"{target}.gate.weight")
    bias = "gate.e_score_correction_bias"
    if router_has_bias(config) or f"{source}.{bias}" in mine.tensors:
        yield mine.whole(f"{source}.{bias}", experts, target=f"{target}.{bias}")
    yield from mine.experts(f"{source}.experts", f"{target}.experts", experts, hidden, intermediate)
    if shared:
        where = source + ".shared_experts", target + ".shared_experts"
        yield from mine.gated_mlp(*where, hidden, intermediate * shared)


def deepseek_layer(mine, source, target, is_moe):
    yield from two_norms(mine, source, target)
    yield from mla(mine, source + ".self_attn", target + ".self_attn")
    if is_moe:
        yield from deepseek_moe(mine, source + ".mlp", target + ".mlp")
    else:
        where = source + ".mlp", target + ".mlp"
        yield from mine.gated_mlp(*where, mine.config["hidden_size"], mine.config["intermediate_size"])


def deepseek(mine):
    config = mine.config
    layers, dense = config["num_hidden_layers"], config.get("first_k_dense_replace") or 0
    yield from embedding(mine)
    for n in range(layers):
        layer = f"model.layers.{n}"
        yield from deepseek_layer(mine, layer, layer, n >= dense)
    yield from norm_and_head(mine)
    for n in range(layers, layers + (config.get("num_nextn_predict_layers") or 0)):
        mine.skip(rf"^model\.layers\.{n}\.")
    mine.finish()


def deepseek_mtp(mine):
    """The draft model: the layer past the main model's last, which predicts one more token."""
    config = mine.config
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    if config.get("num_nextn_predict_layers") != 1:
        raise ValueError("a draft model needs num_nextn_predict_layers 1")
    layer = f"model.layers.{layers}"
    for name, *shape in (
        ("enorm.weight", hidden),
        ("hnorm.weight", hidden),
        ("eh_proj.weight", hidden, 2 * hidden),
        ("shared_head.norm.weight", hidden),
    ):
        yield mine.whole(f"{layer}.{name}", *shape, target=f"model.{name}")
    yield from deepseek_layer(mine, layer, "model.decoder", True)
    mine.skip(rf"^model\.layers\.{layers}\.(embed_tokens|shared_head\.head)\.weight$")
    mine.skip(rf"^(?!model\.layers\.{layers}\.)")
    mine.finish()


ARCHITECTURES = {
    "as_stored": as_stored,
    "llama": llama,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v3_mtp": deepseek_mtp,
}
CLASSES = {
    "LlamaForCausalLM": "llama",
    "DeepseekV2ForCausalLM": "deepseek_v3",
    "DeepseekV3ForCausalLM": "deepseek_v3",
}


def architecture_of(config):
    (name,) = config["architectures"]
    return CLASSES[name]


def stage_of(name, layers, pp):
    """The pipeline stage that has a parameter: the last stages have one layer more where they do not divide."""
    numbered = re.match(r"model\.layers\.(\d+)\.", name)
    if not numbered:
        return 0 if name == "model.embed_tokens.weight" else pp - 1
    each, more = divmod(layers, pp)
    ends = [each * (stage + 1) + max(0, stage + 1 - (pp - more)) for stage in range(pp)]
    return next(stage for stage, end in enumerate(ends) if int(numbered[1]) < end)


def on_stage(made, config, pp, stage):
    """Of the parameters of all stages those of one. A tied head is a parameter of its own on the last."""
    layers = config["num_hidden_layers"]
    if pp > layers:
        raise ValueError(f"{layers} layers for {pp} stages")
    for parameter in made:
        if stage_of(parameter.name, layers, pp) == stage:
            yield parameter
        elif parameter.name == "model.embed_tokens.weight" and config.get("tie_word_embeddings") and stage == pp - 1:
            yield dataclasses.replace(parameter, name="lm_head.weight")


def parameters(checkpoint, architecture, tp, rank, ep=1, finished=False, pp=1):
    """What `--digest` tells, or, with `finished`, `--digest-after`."""
    made = ARCHITECTURES[architecture](Rank(checkpoint, tp, ep, rank % tp, finished))
    if pp == 1 or architecture == "as_stored":
        return made
    return on_stage(made, checkpoint.config, pp, rank // tp)


def accepts(checkpoint, architecture, tp, ep=1, pp=1):
    """Can this model be split so?"""
    try:
        for rank in range(tp * pp):
            for _ in parameters(checkpoint, architecture, tp, rank, ep, pp=pp):
                pass
    except ValueError:
        return False
    return True


def possible_tp(config, most=8):
    """The sizes of tensor parallelism that a Llama config allows, if it is not quantised."""
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
