"""The parameters of one rank, for each architecture."""

import dataclasses
import math
import re
import struct

from .parameter import Parameter, columns, matrix, padded, reshaped, rows, stacked, whole
from .quantization import dequantised
from .rank import Layout, Rank, of_group, share


def as_stored(mine):
    """Every tensor under its own name, whole on every rank."""
    for name, tensor in mine.tensors.items():
        yield whole(name, tensor)


def embedding(mine):
    yield mine.vocabulary("model.embed_tokens.weight", mine.config["vocab_size"], mine.config["hidden_size"])


def norm_and_head(mine, tied=False):
    yield mine.whole("model.norm.weight", mine.config["hidden_size"])
    if mine.config.get("tie_word_embeddings", tied):
        mine.tensors.pop("lm_head.weight", None)
    else:
        yield mine.vocabulary("lm_head.weight", mine.config["vocab_size"], mine.config["hidden_size"])


def norms(mine, names, size, source, target):
    for norm in names:
        name = f".{norm}.weight"
        yield mine.whole(source + name, size, target=target + name)


def two_norms(mine, source, target):
    return norms(
        mine, ("input_layernorm", "post_attention_layernorm"), mine.config["hidden_size"], source, target
    )


def heads_of(config):
    """Query heads, key and value heads, and the size of a head."""
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    return heads, config.get("num_key_value_heads") or heads, head_dim


def heads_of_rank(mine, heads, kv_heads):
    """Which heads this rank computes: an equal part of the query heads; key and value heads likewise,
    or, where there are more ranks than heads, one head that several neighbouring ranks share."""
    tp, rank = mine.tp, mine.rank
    q = share("attention heads", heads, tp, rank)
    if tp < kv_heads:
        return q, share("key and value heads", kv_heads, tp, rank)
    _, ranks_a_head = share("ranks for each key and value head", tp, kv_heads, 0)
    return q, (rank // ranks_a_head, 1)


@of_group("attention")
def grouped_queries(mine, layer, qkv_bias, o_bias):
    hidden, (heads, kv_heads, head_dim) = mine.config["hidden_size"], heads_of(mine.config)
    q, kv = heads_of_rank(mine, heads, kv_heads)
    attention = layer + ".self_attn."
    pieces = []
    for which, all_heads, (first, count) in (("q", heads, q), ("k", kv_heads, kv), ("v", kv_heads, kv)):
        linear = mine.linear(f"{attention}{which}_proj", all_heads * head_dim, hidden, qkv_bias)
        pieces.append((linear, first * head_dim, count * head_dim))
    yield from mine.merged(attention + "qkv_proj", *pieces)
    o_proj = mine.linear(attention + "o_proj", hidden, heads * head_dim, o_bias)
    yield from mine.row_parallel(attention + "o_proj", o_proj, q[0] * head_dim, q[1] * head_dim)


def norms_of_heads(mine, layer):
    return norms(mine, ("q_norm", "k_norm"), heads_of(mine.config)[2], layer + ".self_attn", layer + ".self_attn")


def llama_like(qkv_bias=False, o_bias=False, mlp_bias=False, head_norms=False):
    """Llama and its kin. A bias is there or not, or it is the name of the config's flag that says so."""

    def architecture(mine):
        config = mine.config
        flags = (config.get(b, False) if isinstance(b, str) else b for b in (qkv_bias, o_bias, mlp_bias))
        of_qkv, of_o, of_mlp = flags
        yield from embedding(mine)
        for n in range(config["num_hidden_layers"]):
            layer = f"model.layers.{n}"
            yield from two_norms(mine, layer, layer)
            if head_norms:
                yield from norms_of_heads(mine, layer)
            yield from grouped_queries(mine, layer, of_qkv, of_o)
            mlp = layer + ".mlp"
            yield from mine.gated_mlp(mlp, mlp, config["hidden_size"], config["intermediate_size"], of_mlp)
        yield from norm_and_head(mine)
        mine.finish()

    return architecture


def gemma(version):
    """Norms before and behind; version 3 has the embedding whole on every rank. The head is tied where nothing is said."""

    def architecture(mine):
        config = mine.config
        hidden, bias = config["hidden_size"], config.get("attention_bias", False)
        if version == 3:
            yield mine.whole("model.embed_tokens.weight", config["vocab_size"], hidden)
        else:
            yield from embedding(mine)
        for n in range(config["num_hidden_layers"]):
            layer = f"model.layers.{n}"
            yield from two_norms(mine, layer, layer)
            yield from norms(
                mine, ("pre_feedforward_layernorm", "post_feedforward_layernorm"), hidden, layer, layer
            )
            if version == 3:
                yield from norms_of_heads(mine, layer)
            yield from grouped_queries(mine, layer, bias, bias)
            yield from mine.gated_mlp(layer + ".mlp", layer + ".mlp", hidden, config["intermediate_size"])
        yield from norm_and_head(mine, tied=True)
        mine.finish()

    return architecture


def number_of_experts(config):
    """transformers 5 writes num_local_experts, whatever key the public file has."""
    return next(config[key] for key in ("num_experts", "num_local_experts") if key in config)


def has_experts(config, layer):
    return layer not in config.get("mlp_only_layers", []) and (layer + 1) % config.get("decoder_sparse_step", 1) == 0


def qwen3_moe(mine):
    config = mine.config
    hidden, bias = config["hidden_size"], config.get("attention_bias", False)
    experts = number_of_experts(config)
    yield from embedding(mine)
    for n in range(config["num_hidden_layers"]):
        layer = f"model.layers.{n}"
        yield from two_norms(mine, layer, layer)
        yield from norms_of_heads(mine, layer)
        yield from grouped_queries(mine, layer, bias, bias)
        if not has_experts(config, n):
            yield from mine.gated_mlp(layer + ".mlp", layer + ".mlp", hidden, config["intermediate_size"])
            continue
        yield mine.whole(layer + ".mlp.gate.weight", experts, hidden)
        at = layer + ".mlp.experts"
        yield from mine.experts(at, at, experts, hidden, config["moe_intermediate_size"])
    yield from norm_and_head(mine)
    mine.finish()


def mixtral(mine):
    """Parameters are called as the public files call the experts, also where these lie in one tensor."""
    config = mine.config
    hidden, width, experts = config["hidden_size"], config["intermediate_size"], number_of_experts(config)
    yield from embedding(mine)
    for n in range(config["num_hidden_layers"]):
        layer = f"model.layers.{n}"
        yield from two_norms(mine, layer, layer)
        yield from grouped_queries(mine, layer, False, False)
        target = layer + ".block_sparse_moe"
        source = target if target + ".gate.weight" in mine.tensors else layer + ".mlp"
        yield mine.whole(source + ".gate.weight", experts, hidden, target=target + ".gate.weight")
        yield from mine.experts(
            source + ".experts", target + ".experts", experts, hidden, width, names=("w1", "w3", "w2")
        )
    yield from norm_and_head(mine)
    mine.finish()


def glm4_moe(mine):
    config = mine.config
    hidden, experts, width = (config[k] for k in ("hidden_size", "n_routed_experts", "moe_intermediate_size"))
    layers, dense = config["num_hidden_layers"], config.get("first_k_dense_replace") or 0
    shared = config.get("n_shared_experts") or 0
    yield from embedding(mine)
    for n in range(layers):
        layer = f"model.layers.{n}"
        mlp = layer + ".mlp"
        yield from two_norms(mine, layer, layer)
        if config.get("use_qk_norm", False):
            yield from norms_of_heads(mine, layer)
        yield from grouped_queries(mine, layer, config.get("attention_bias", False), False)
        if n < dense:
            yield from mine.gated_mlp(mlp, mlp, hidden, config["intermediate_size"])
            continue
        yield mine.whole(mlp + ".gate.weight", experts, hidden)
        yield whole(
            mlp + ".gate.e_score_correction_bias",
            mine.take(mlp + ".gate.e_score_correction_bias", experts, dtype="F32"),
        )
        yield from mine.experts(mlp + ".experts", mlp + ".experts", experts, hidden, width)
        if shared:
            yield from mine.gated_mlp(mlp + ".shared_experts", mlp + ".shared_experts", hidden, width * shared)
    yield from norm_and_head(mine)
    for n in range(layers, layers + (config.get("num_nextn_predict_layers") or 0)):
        mine.skip(rf"^model\.layers\.{n}\.")
    mine.finish()


def text_of(config):
    """The language model's config: what the top says, and the nested one where that says nothing."""
    return {**config.get("text_config", {}), **config}


@of_group("vision")
def vision_tower(mine, kind):
    """The first of the vision linears of a block are cut by rows, the second by columns; norms and patches are whole."""
    v = mine.config["vision_config"]
    width = v["embed_dim"] if kind == 2 else v["hidden_size"]
    out = v["hidden_size"] if kind == 2 else v["out_hidden_size"]
    between = v["mlp_ratio"] * width if kind == 2 else v["intermediate_size"]
    merged = width * v["spatial_merge_size"] ** 2
    heads = share("vision heads", v["num_heads"], mine.tp, mine.rank)
    each = width // v["num_heads"]

    def norm(name, size, bias):
        yield mine.whole(name + ".weight", size)
        if bias:
            yield mine.whole(name + ".bias", size)

    def pair(first, second, rows, middle, columns):
        """A linear up and a linear down, both with a bias, and the middle is shared."""
        part = share("width between", middle, mine.tp, mine.rank)
        yield from mine.column_parallel(first, mine.linear(first, middle, columns, True, plain=True), *part)
        yield from mine.row_parallel(second, mine.linear(second, rows, middle, True, plain=True), *part)

    patch = v["patch_size"]
    shape = width, v.get("in_channels", 3), v["temporal_patch_size"], patch, patch
    yield mine.whole("visual.patch_embed.proj.weight", *shape)
    if kind == 3:
        yield mine.whole("visual.patch_embed.proj.bias", width)
        yield mine.whole("visual.pos_embed.weight", v["num_position_embeddings"], width)
    for n in range(v["depth"]):
        block = f"visual.blocks.{n}."
        for which in ("norm1", "norm2"):
            yield from norm(block + which, width, kind != 2.5)
        qkv = mine.linear(block + "attn.qkv", 3 * width, width, True, plain=True)
        first, count = heads[0] * each, heads[1] * each
        yield from mine.merged(block + "attn.qkv_proj", *((qkv, at * width + first, count) for at in range(3)))
        proj = mine.linear(block + "attn.proj", width, width, True, plain=True)
        yield from mine.row_parallel(block + "attn.proj", proj, first, count)
        if kind == 2.5:
            yield from mine.unequal_mlp(block + "mlp", width, between)
        else:
            names = ("mlp.fc1", "mlp.fc2") if kind == 2 else ("mlp.linear_fc1", "mlp.linear_fc2")
            yield from pair(*(block + name for name in names), width, between, width)
    names = ("linear_fc1", "linear_fc2") if kind == 3 else ("mlp.0", "mlp.2")
    mergers = [("visual.merger.", width)]
    if kind == 3:
        mergers += [(f"visual.deepstack_merger_list.{n}.", merged) for n in range(len(v["deepstack_visual_indexes"]))]
    for merger, normed in mergers:
        yield from norm(merger + ("norm" if kind == 3 else "ln_q"), normed, kind != 2.5)
        yield from pair(*(merger + name for name in names), out, merged, merged)


def qwen_vl(mine):
    """Parameters are called as in old files; new ones say model.language_model. and model.visual."""
    kind = {"Qwen2VL": 2, "Qwen2_5": 2.5, "Qwen3VL": 3}[mine.config["architectures"][0][:7]]
    old = {"model.language_model.": "model.", "model.visual.": "visual."}
    mine.tensors = {
        next((old[new] + name[len(new) :] for new in old if name.startswith(new)), name): tensor
        for name, tensor in mine.tensors.items()
    }
    yield from vision_tower(mine, kind)
    mine.config = text_of(mine.config)
    yield from llama_like(qkv_bias=True)(mine) if kind < 3 else llama_like("attention_bias", "attention_bias", head_norms=True)(mine)


def bert(mine):
    """Megatron's cuts; the names are those without the prefix that some files have."""
    config = mine.config
    hidden, heads, width = (config[k] for k in ("hidden_size", "num_attention_heads", "intermediate_size"))
    prefix = "bert." if any(name.startswith("bert.") for name in mine.tensors) else ""
    mine.skip(r"^(bert\.)?embeddings\.position_ids$|^cls\.predictions\.")

    def table(name, rows):
        return mine.whole(f"{prefix}{name}.weight", rows, hidden, target=name + ".weight")

    def norm(name):
        for part in ("weight", "bias"):
            yield mine.whole(f"{prefix}{name}.{part}", hidden, target=f"{name}.{part}")

    words = "embeddings.word_embeddings.weight"
    yield mine.vocabulary(prefix + words, config["vocab_size"], hidden, target=words)
    yield table("embeddings.position_embeddings", config["max_position_embeddings"])
    yield table("embeddings.token_type_embeddings", config["type_vocab_size"])
    yield from norm("embeddings.LayerNorm")
    with mine.group("attention"):
        first, count = share("attention heads", heads, mine.tp, mine.rank)
    each = hidden // heads
    for n in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{n}."
        at = layer + "attention."
        pieces = [mine.linear(f"{prefix}{at}self.{x}", hidden, hidden, True) for x in ("query", "key", "value")]
        yield from mine.merged(at + "self.qkv", *((piece, first * each, count * each) for piece in pieces))
        dense = mine.linear(f"{prefix}{at}output.dense", hidden, hidden, True)
        with mine.group("attention"):
            yield from mine.row_parallel(at + "output.dense", dense, first * each, count * each)
        yield from norm(at + "output.LayerNorm")
        up = mine.linear(f"{prefix}{layer}intermediate.dense", width, hidden, True)
        down = mine.linear(f"{prefix}{layer}output.dense", hidden, width, True)
        with mine.group("dense"):
            part = share("intermediate size", width, mine.tp, mine.rank)
            yield from mine.column_parallel(layer + "intermediate.dense", up, *part)
            yield from mine.row_parallel(layer + "output.dense", down, *part)
        yield from norm(layer + "output.LayerNorm")
    if prefix + "pooler.dense.weight" in mine.tensors:
        yield from mine.replicated("pooler.dense", mine.linear(prefix + "pooler.dense", hidden, hidden, True))
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


@of_group("attention")
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
    is_v3 = "DeepseekV3ForCausalLM" in config.get("architectures", [])
    return config.get("topk_method", "noaux_tc" if is_v3 else "greedy") == "noaux_tc"


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


def kimi_k25(mine):
    """A DeepSeek-V3, a vision tower, and what leads from this to that. Only the tower's attention is divided."""
    language = "language_model."
    for parameter in deepseek(mine.inside(language, mine.config["text_config"])):
        yield dataclasses.replace(parameter, name=language + parameter.name)
    config, text = mine.config["vision_config"], mine.config["text_config"]
    width, wide, patch = config["vt_hidden_size"], config["vt_intermediate_size"], config["patch_size"]
    merged = width * math.prod(config["merge_kernel_size"])

    def module(name, *shape, target=None, bias=None):
        yield mine.whole(name + ".weight", *shape, target=(target or name) + ".weight")
        yield mine.whole(name + ".bias", bias or shape[0], target=(target or name) + ".bias")

    yield from module("vision_tower.patch_embed.proj", width, 3, patch, patch)
    size = config["init_pos_emb_height"], config["init_pos_emb_width"]
    yield mine.whole("vision_tower.patch_embed.pos_emb.weight", *size, width)
    heads = config["vt_num_attention_heads"]
    with mine.group("vision"):
        part = share("heads of the vision tower", heads, mine.tp, mine.rank)
    first, count = (n * (width // heads) for n in part)
    for n in range(config["vt_num_hidden_layers"]):
        block = f"vision_tower.encoder.blocks.{n}."
        for norm in ("norm0", "norm1"):
            yield from module(block + norm, width)
        for part, *shape in (("weight", 3 * width, width), ("bias", 3 * width)):
            tensor = mine.take(f"{block}wqkv.{part}", *shape)
            yield stacked(
                f"{block}attn.qkv_proj.{part}", [rows(tensor, which * width + first, count) for which in range(3)]
            )
        weight = mine.take(block + "wo.weight", width, width)
        yield stacked(block + "attn.proj.weight", [columns(weight, first, count)])
        yield mine.whole(block + "wo.bias", width, target=block + "attn.proj.bias")
        yield from module(block + "mlp.fc0", wide, width)
        yield from module(block + "mlp.fc1", width, wide)
    yield from module("vision_tower.encoder.final_layernorm", width)
    yield from module("mm_projector.pre_norm", width)
    yield from module("mm_projector.proj.0", merged, merged, target="mm_projector.linear_1")
    yield from module("mm_projector.proj.2", text["hidden_size"], merged, target="mm_projector.linear_2")
    mine.finish()


def gpt_oss(mine):
    config = mine.config
    hidden, experts, bias = config["hidden_size"], number_of_experts(config), config.get("attention_bias", True)
    heads = config["num_attention_heads"]
    yield from embedding(mine)
    for n in range(config["num_hidden_layers"]):
        layer = f"model.layers.{n}"
        yield from two_norms(mine, layer, layer)
        yield from grouped_queries(mine, layer, bias, bias)
        sinks = layer + ".self_attn.sinks"
        with mine.group("attention"):
            part = share("attention heads", heads, mine.tp, mine.rank)
        yield stacked(sinks, [rows(mine.take(sinks, heads), *part)])
        yield mine.whole(layer + ".mlp.router.weight", experts, hidden)
        yield mine.whole(layer + ".mlp.router.bias", experts)
        yield from gpt_oss_experts(mine, layer + ".mlp.experts.", experts, hidden, config["intermediate_size"])
    yield from norm_and_head(mine)
    mine.finish()


def gpt_oss_experts(mine, at, experts, hidden, width):
    """Gate and up lie in turn: line 2 i is of the gate, 2 i + 1 goes up. MXFP4 is cut into blocks of 32, as many on each
    rank, the last ranks with zeros in their place; plain numbers are transposed, and cut evenly."""
    own = mine.experts_in_slots(at, experts)
    quantised = bool(config_of_quantisation(mine.config))
    if quantised:
        if width % 32 or hidden % 32:
            raise ValueError(f"{at}: {hidden} and {width} are no multiples of 32")
        each = -(-width // 32 // mine.expert_tp) * 32
        first = min(width, each * mine.expert_rank)
        count = min(width, first + each) - first
    else:
        first, count = share("intermediate size of an expert", width, mine.expert_tp, mine.expert_rank)
        each = count

    def of_each_expert(name, tensor, cut):
        parameter = stacked(at + name, [cut(matrix(tensor, n)) for n in own], len(own))
        parameter.from_file = parameter.from_file // len(own) * len(set(own))
        return parameter

    bias = mine.take(at + "gate_up_proj_bias", experts, 2 * width)
    yield of_each_expert("w13_weight_bias", bias, lambda v: padded(rows(v, 2 * first, 2 * count), 2 * each))
    bias = mine.take(at + "down_proj_bias", experts, hidden)
    real = hidden if mine.expert_rank == 0 else 0
    yield of_each_expert("w2_weight_bias", bias, lambda v: padded(rows(v, 0, real), hidden))
    if not quantised:
        both = mine.take(at + "gate_up_proj", experts, hidden, 2 * width)
        yield of_each_expert("w13_weight", both, lambda m: columns(m, 2 * first, 2 * count))
        yield of_each_expert("w2_weight", mine.take(at + "down_proj", experts, width, hidden), lambda m: rows(m, first, count))
        return
    for name, suffix, numbers in (("_blocks", "weight", 2), ("_scales", "weight_scale", 32)):
        inner = (16,) if name == "_blocks" else ()
        both = mine.take(f"{at}gate_up_proj{name}", experts, 2 * width, hidden // 32, *inner, dtype="U8")
        line = hidden // numbers

        def cut_rows(m, line=line):
            return padded(rows(reshaped(m, 2 * width, line), 2 * first, 2 * count), 2 * each, line)

        yield of_each_expert("w13_" + suffix, both, cut_rows)
        down = mine.take(f"{at}down_proj{name}", experts, hidden, width // 32, *inner, dtype="U8")

        def cut_columns(m, numbers=numbers):
            m = columns(reshaped(m, hidden, width // numbers), first // numbers, count // numbers)
            return padded(m, hidden, each // numbers)

        yield of_each_expert("w2_" + suffix, down, cut_columns)


def config_of_quantisation(config):
    return config.get("quantization_config") or config.get("text_config", {}).get("quantization_config")


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
    "bert": bert,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v3_mtp": deepseek_mtp,
    "gemma2": gemma(2),
    "gemma3": gemma(3),
    "glm4_moe": glm4_moe,
    "gpt_oss": gpt_oss,
    "kimi_k25": kimi_k25,
    "llama": llama_like("attention_bias", "attention_bias", "mlp_bias"),
    "mistral": llama_like(),
    "mixtral": mixtral,
    "qwen2": llama_like(qkv_bias=True),
    "qwen3": llama_like("attention_bias", "attention_bias", head_norms=True),
    "qwen3_moe": qwen3_moe,
    "qwen_vl": qwen_vl,
}
CLASSES = {
    "BertForMaskedLM": "bert",
    "BertModel": "bert",
    "DeepseekV2ForCausalLM": "deepseek_v3",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
    "Glm4MoeForCausalLM": "glm4_moe",
    "GptOssForCausalLM": "gpt_oss",
    "KimiK25ForConditionalGeneration": "kimi_k25",
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2VLForConditionalGeneration": "qwen_vl",
    "Qwen2_5_VLForConditionalGeneration": "qwen_vl",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "Qwen3VLForConditionalGeneration": "qwen_vl",
}


def architecture_of(config):
    (name,) = config["architectures"]
    return CLASSES[name]


def stage_of(name, layers, pp, stages):
    """The pipeline stage that has a parameter: the last stages have one layer more where they do not divide."""
    name = name.removeprefix("language_model.")
    if name.startswith(("vision_tower.", "mm_projector.")):
        return 0
    numbered = re.match(r"(?:model\.layers|encoder\.layer)\.(\d+)\.", name)
    if not numbered:
        return 0 if re.match(r"model\.embed_tokens\.|embeddings\.|visual\.", name) else pp - 1
    each, more = divmod(layers, pp)
    ends = [each * (stage + 1) + max(0, stage + 1 - (pp - more)) for stage in range(pp)]
    if stages:
        if len(stages) != pp or sum(stages) != layers:
            raise ValueError(f"{stages} are not {pp} stages of {layers} layers")
        ends = [sum(stages[: stage + 1]) for stage in range(pp)]
    return next(stage for stage, end in enumerate(ends) if int(numbered[1]) < end)


def on_stage(made, config, pp, stage, stages):
    """Of the parameters of all stages those of one. A tied head is a parameter of its own on the last."""
    layers = text_of(config)["num_hidden_layers"]
    if pp > layers:
        raise ValueError(f"{layers} layers for {pp} stages")
    made = list(made)
    tied = not any(parameter.name.endswith("lm_head.weight") for parameter in made)
    for parameter in made:
        if stage_of(parameter.name, layers, pp, stages) == stage:
            yield parameter
        elif parameter.name.endswith("model.embed_tokens.weight") and tied and stage == pp - 1:
            name = parameter.name.replace("model.embed_tokens", "lm_head")
            yield dataclasses.replace(parameter, name=name)


def parameters(checkpoint, architecture, tp, rank, ep=1, finished=False, pp=1, layout=None):
    """What `--digest` tells, or, with `finished`, `--digest-after`."""
    layout = layout or Layout()
    made = ARCHITECTURES[architecture](Rank(checkpoint, tp, ep, rank % tp, finished, layout))
    if pp == 1 or architecture == "as_stored":
        return made
    return on_stage(made, checkpoint.config, pp, rank // tp, layout.stages)


def accepts(checkpoint, architecture, tp, ep=1, pp=1, layout=None):
    """Can this model be split so?"""
    try:
        for rank in range(tp * pp):
            for _ in parameters(checkpoint, architecture, tp, rank, ep, pp=pp, layout=layout):
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
