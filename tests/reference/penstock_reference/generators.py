"""Random checkpoints, each made by one seed. All bytes are random, so a wrong slice gives a wrong digest."""

import json
import math
import pathlib
import re
from dataclasses import dataclass

from .architectures import accepts, config_of_quantisation, possible_tp, router_has_bias
from .checkpoint import Checkpoint
from .quantization import scheme_of
from .safetensors import BITS, size_in_bytes, write_file

METADATA = [(), {}, None, {"format": "pt"}, {"format": "pt", "note": 'ü " \\ \n'}]
FLOATS = ["F32", "F16", "BF16"]


NOT_A_NUMBER = bytes.maketrans(b"\x7f\xff", b"\x7e\xfe")  # F8_E4M3: the largest numbers in their place


def random_tensor(random, name, dtype, shape):
    data = random.randbytes(size_in_bytes(dtype, shape))
    return name, dtype, tuple(shape), data.translate(NOT_A_NUMBER) if dtype == "F8_E4M3" else data


def random_llama_config(random):
    """A Llama config and its size of tensor parallelism to aim at (`possible_tp` tells which others it allows)."""
    aim = random.choice([1, 1, 2, 2, 3, 4, 4, 5, 6, 8])
    kv_heads = random.choice([n for n in (1, 2, 3, 4, 6, 8) if aim % n == 0 or n % aim == 0])
    group = random.choice([1, 2, 3, 4, 5])
    while kv_heads * group % aim:
        group += 1
    heads = kv_heads * group
    head_dim = random.choice([2, 4, 6, 8, 16])
    explicit = random.random() < 0.6
    hidden = random.choice([5, 8, 24, 33, 40, 64, 130]) if explicit else heads * head_dim
    unit = 64 * aim if aim % 3 == 0 or aim % 5 == 0 else 64
    vocabulary = unit * random.choice([1, 2, 3]) - random.choice([0, 0, 1, 7, 37, 63])
    while -(-vocabulary // 64) * 64 % aim:
        vocabulary += 64
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": random.choice([1, 1, 2, 3, 4]),
        "intermediate_size": aim * random.choice([1, 3, 5, 11, 17, 32, 43]),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocabulary,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "max_position_embeddings": 128,
    }
    if explicit:
        config["head_dim"] = head_dim
    elif random.random() < 0.3:
        config["head_dim"] = None
    if kv_heads == heads and random.random() < 0.5:
        del config["num_key_value_heads"]
    for name, often in (("tie_word_embeddings", 0.4), ("attention_bias", 0.3), ("mlp_bias", 0.3)):
        if random.random() < often:
            config[name] = True
        elif random.random() < 0.5:
            config[name] = False
    config.update(
        random.choice(
            [
                {"torch_dtype": "bfloat16", "rope_theta": 10000.0},
                {"dtype": "bfloat16", "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}},
                {},
            ]
        )
    )
    return config, aim


def llama_tensors(random, config):
    """The tensors of a Llama config. Dtypes differ from layer to layer; siblings that an engine fuses agree."""
    hidden, intermediate = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim") or hidden // heads
    mixed, usual = random.random() < 0.5, random.choice(FLOATS)

    def dtype():
        return random.choice(FLOATS) if mixed else usual

    made = []

    def make(name, kind, *shape):
        made.append(random_tensor(random, name, kind, shape))

    make("model.embed_tokens.weight", dtype(), config["vocab_size"], hidden)
    for n in range(config["num_hidden_layers"]):
        layer = f"model.layers.{n}."
        make(layer + "input_layernorm.weight", dtype(), hidden)
        make(layer + "post_attention_layernorm.weight", dtype(), hidden)
        attention, weight, bias = layer + "self_attn.", dtype(), dtype()
        for which, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            make(f"{attention}{which}_proj.weight", weight, count * head_dim, hidden)
            if config.get("attention_bias"):
                make(f"{attention}{which}_proj.bias", bias, count * head_dim)
        make(attention + "o_proj.weight", dtype(), hidden, heads * head_dim)
        if config.get("attention_bias"):
            make(attention + "o_proj.bias", dtype(), hidden)
        mlp, weight, bias = layer + "mlp.", dtype(), dtype()
        for which in ("gate", "up"):
            make(f"{mlp}{which}_proj.weight", weight, intermediate, hidden)
            if config.get("mlp_bias"):
                make(f"{mlp}{which}_proj.bias", bias, intermediate)
        make(mlp + "down_proj.weight", dtype(), hidden, intermediate)
        if config.get("mlp_bias"):
            make(mlp + "down_proj.bias", dtype(), hidden)
        if random.random() < 0.2:
            make(attention + "rotary_emb.inv_freq", "F32", head_dim // 2)
    make("model.norm.weight", dtype(), hidden)
    if not config.get("tie_word_embeddings") or random.random() < 0.4:
        make("lm_head.weight", dtype(), config["vocab_size"], hidden)
    return made


def siblings(name):
    """A key that is the same for tensors which an engine fuses."""
    for piece in ("q_proj", "k_proj", "v_proj"):
        name = name.replace("." + piece + ".", ".qkv_proj.")
    for piece in ("q_a_proj", "kv_a_proj_with_mqa"):
        name = name.replace("." + piece + ".", ".fused_qkv_a_proj_with_mqa.")
    for piece in ("gate_proj", "up_proj"):
        name = name.replace("." + piece + ".", ".gate_up_proj.")
    for piece in ("w1", "w3"):
        name = name.replace("." + piece + ".", ".w13.")
    for piece in ("query", "key", "value"):
        name = name.replace(".self." + piece + ".", ".self.qkv.")
    return name


def write_folder(random, folder, config, tensors, *, shards=None):
    """Writes `tensors` as a checkpoint of 1 to 5 shards, in one of the many forms that real folders have."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=random.choice([None, 2])))
    count = shards or random.choice([1, 1, 2, 3, 4, 5])
    count = min(count, max(1, len(tensors)))
    if count == 1 and random.random() < 0.6:
        names, indexed = ["model.safetensors"], False
    else:
        first, subfolder = random.choice([0, 1]), random.choice(["", "", "", "weights/", "a b/ü/"])
        names = [f"{subfolder}model-{n + first:05d}-of-{count:05d}.safetensors" for n in range(count)]
        indexed = subfolder != "" or random.random() < 0.8

    # Siblings go to neighbouring shards, so they are apart wherever there are two; all others go anywhere.
    owned, seen = [[] for _ in names], {}
    order = list(tensors)
    random.shuffle(order)
    for tensor in order:
        key = siblings(tensor[0])
        seen[key] = seen.get(key, random.randrange(count)) + 1
        owned[seen[key] % count].append(tensor)
    random.shuffle(owned)
    weight_map = {tensor[0]: name for name, mine in zip(names, owned) for tensor in mine}

    stale = [list(mine) for mine in owned]
    if indexed:
        for where, name in enumerate(names):
            for tensor in order:
                if weight_map[tensor[0]] != name and random.random() < 0.1:  # an old copy, with another dtype and shape
                    stale[where].append(random_tensor(random, tensor[0], "U8", (random.choice([1, 3, 100]),)))
            if random.random() < 0.2:
                stale[where].append(random_tensor(random, "left.over.from.another.model", "F32", (7, 3)))
    for name, mine in zip(names, stale):
        random.shuffle(mine)
        header_order = [t[0] for t in mine]
        random.shuffle(header_order)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_file(
            folder / name,
            mine,
            header_order=header_order,
            metadata=random.choice(METADATA),
            pad_to=random.choice([1, 1, 1, 8]),
        )
    if indexed:
        items = list(weight_map.items())
        random.shuffle(items)
        index = {"weight_map": dict(items)}
        total = sum(len(t[3]) for t in tensors)
        form = random.choice(["right", "stale", "zero", "none", "empty", "other"])
        if form != "none":
            index = {
                "metadata": {
                    "right": {"total_size": total},
                    "stale": {"total_size": total + 12345},
                    "zero": {"total_size": 0},
                    "empty": {},
                    "other": {"total_parameters": 1, "total_size": float(total)},
                }[form]
            } | index
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, ensure_ascii=random.random() < 0.5))
        if random.random() < 0.3:  # the same model in another layout, which is not to be read
            write_file(
                folder / "consolidated.safetensors", [random_tensor(random, "tok_embeddings.weight", "BF16", (16, 4))]
            )
    return weight_map


def random_llama(random, folder):
    """A random Llama checkpoint; returns its config and the tp that it was made for."""
    config, aim = random_llama_config(random)
    write_folder(random, folder, config, llama_tensors(random, config))
    return config, aim


def pick(random, most, *conditions):
    """A number from 1 to `most` that meets all conditions."""
    return random.choice([n for n in range(1, most + 1) if all(condition(n) for condition in conditions)])


def pick_expert_width(random, tp, expert_tp, shared, block_n, block_k):
    """The width of an expert, which ranks cut along whole blocks, as they cut the `shared` ones that stand beside it."""
    return pick(
        random,
        240,
        lambda n: n % expert_tp == 0 and n // expert_tp % block_n == 0,
        lambda n: expert_tp == 1 or n // expert_tp % block_k == 0,
        lambda n: n * shared % tp == 0 and n * shared // tp % block_n == 0,
        lambda n: tp == 1 or n * shared // tp % block_k == 0,
    )


def linear_of(name):
    """The linear module whose weight this is, or None: some matrices are never quantised."""
    return re.fullmatch(r"(?!.*\.eh_proj\.|(?:model\.)?visual\.)(.*\.(?:\w+_proj(?:_with_mqa)?|w[123]))\.weight", name)


def quantised(config, outline):
    """An outline, a list of (name, dtype, shape), in which linears are stored as the config's scheme stores them."""
    inside = "quantization_config" in config.get("text_config", {})
    scheme = scheme_of(config["text_config"] if inside else config)
    for name, dtype, shape in outline:
        linear = linear_of(name)
        if not linear:
            yield name, dtype, shape
            continue
        module, prefix = linear[1], None
        if inside:
            prefix = ("language_model.",)
            module = module.removeprefix(*prefix)
        for suffix, kind, stored, _ in scheme.tensors(module, *shape, prefix):
            kind = kind if kind is None or isinstance(kind, str) else kind[len(linear[1]) % len(kind)]
            yield f"{linear[1]}.{suffix}", kind or dtype, stored


def filled(random, outline):
    """An outline with bytes: random ones, except that scales are numbers which an engine can multiply with."""
    for name, dtype, shape in outline:
        if not name.endswith("_scale_inv"):
            yield random_tensor(random, name, dtype, shape)
            continue
        data, bits = b"", random.choice(
            [0, 3, 5, 23]
        )  # of the fraction: with few, products lie half-way between others
        for _ in range(size_in_bytes(dtype, shape) // 4):
            fraction = random.getrandbits(bits) << 23 - bits if bits else 0
            data += (random.randrange(100, 140) << 23 | fraction).to_bytes(4, "little")
        yield name, dtype, shape, data


BLOCKS = [(8, 8), (16, 8), (8, 16), (4, 12), (16, 16), (3, 5), (1, 8)]


def random_ignore_list(random, outline):
    """Modules that stay plain, and entries that mean no linear. What an engine fuses is ignored as a whole."""
    modules = [linear[1] for name, _, _ in outline if (linear := linear_of(name))]
    groups = {}
    for module in modules:
        groups.setdefault(re.sub(r"\.experts\.\d+\.", ".experts.*.", siblings(module + ".")), []).append(module)
    entries = []
    for group in random.sample(list(groups.values()), min(len(groups), random.choice([0, 1, 1, 2, 4]))):
        parts = random.choice([1, 2, 2, 3, 4, 5, 5, 6, 7])  # of the end of each name
        entries += [".".join(module.split(".")[-parts:]) for module in group]
    some = random.choice(modules)
    decoys = [
        some.rsplit(".", 1)[0],  # a parent's name does not mean its children
        "model.layers.0",
        "self_attn",
        "experts",
        "proj",
        "_proj",
        some[:-1],
        "x" + some,
        some + ".weight",
        siblings(some + ".").rstrip("."),  # an engine's name
        "lm_head",
        "model.lm_head",
        "model.embed_tokens",
        "model.layers.1.mlp.gate",
        "no.such.module",
    ]
    decoys = [entry for entry in decoys if entry not in modules]
    entries += random.sample(decoys, random.choice([0, 0, 1, 3]))
    random.shuffle(entries)
    return entries


def declare_fp8_block(random, config, block, outline):
    """Writes into `config` that its linears are in blocks of FP8, some of them perhaps not."""
    declared = {"quant_method": "fp8", "weight_block_size": list(block)}
    for name, values in (("fmt", ["e4m3", "float8_e4m3fn"]), ("activation_scheme", ["dynamic"])):
        if random.random() < 0.7:
            declared[name] = random.choice(values)
    key, ignored = random.choice(["modules_to_not_convert", "ignored_layers"]), random_ignore_list(random, outline)
    if ignored or random.random() < 0.5:
        declared[key] = ignored or random.choice([[], None])
    config["quantization_config"] = declared


def random_llama_fp8_block_config(random, block=None):
    """A Llama config whose tp to aim at cuts no block; the config does not declare them yet."""
    config, aim = random_llama_config(random)
    block_n, block_k = block = block or random.choice(BLOCKS)
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    q, kv = heads // aim, max(1, kv_heads // aim)
    head_dim = pick(
        random,
        48,
        lambda n: n % 2 == 0 and q * n % block_n == 0 and kv * n % block_n == 0,
        lambda n: aim == 1 or q * n % block_k == 0,
    )
    if config.get("head_dim"):
        config["head_dim"] = head_dim
    else:
        config["hidden_size"] = heads * head_dim
    config["intermediate_size"] = aim * pick(random, 60, lambda n: n % block_n == 0 and (aim == 1 or n % block_k == 0))
    return config, aim, block


def random_deepseek_config(random, block=None):
    """A DeepSeek config and the (tp, ep) to aim at. With `block`, they cut no block of this size."""
    block_n, block_k = block or (1, 1)
    tp = random.choice([1, 1, 2, 2, 3, 4, 4, 8])
    ep = random.choice([n for n in range(1, tp + 1) if tp % n == 0])
    expert_tp, each = tp // ep, random.choice([1, 1, 2, 3])
    q_rank = pick(random, 40, lambda n: n % block_n == 0) if random.random() < 0.6 else None
    value = pick(random, 24, lambda n: tp == 1 or each * n % block_k == 0)
    nope = pick(random, 48, lambda n: tp == 1 or each * (n + value) % block_n == 0)
    rope = pick(random, 48, lambda n: n % 2 == 0 and (tp == 1 or each * (nope + n) % block_n == 0))
    shared = random.choice([0, 1, 1, 2, 3])
    expert_width = pick_expert_width(random, tp, expert_tp, shared, block_n, block_k)
    layers, unit = random.choice([1, 2, 2, 3]), 192 if tp == 3 else 64
    config = {
        "hidden_size": random.choice([5, 8, 24, 33, 40]),
        "num_hidden_layers": layers,
        "intermediate_size": tp * pick(random, 60, lambda n: n % block_n == 0 and (tp == 1 or n % block_k == 0)),
        "moe_intermediate_size": expert_width,
        "num_attention_heads": tp * each,
        "num_key_value_heads": tp * each,
        "q_lora_rank": q_rank,
        "kv_lora_rank": random.choice([3, 8, 16, 20, 24]),
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
        "v_head_dim": value,
        "n_routed_experts": random.choice([n for n in range(1, 10) if n >= ep]),
        "num_experts_per_tok": 1,
        "first_k_dense_replace": random.choice([0, 1, 1, layers]),
        "vocab_size": unit * random.choice([1, 2]) - random.choice([0, 1, 7, 63]),
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 128,
    }
    version = random.choice([2, 3])
    config["architectures"], config["model_type"] = [f"DeepseekV{version}ForCausalLM"], f"deepseek_v{version}"
    if shared or random.random() < 0.7:
        config["n_shared_experts"] = shared or random.choice([0, None])
    if not q_rank and random.random() < 0.5:
        del config["q_lora_rank"]
    for name, often, values in (
        ("topk_method", 0.8, ["noaux_tc"] if version == 3 else ["greedy", "group_limited_greedy"]),
        ("num_nextn_predict_layers", 0.6, [0, 1, 1, 1, 2]),
        ("tie_word_embeddings", 0.5, [False, False, True]),
        ("attention_bias", 0.5, [False, True]),
        ("moe_layer_freq", 0.5, [1]),
        ("head_dim", 0.3, [rope]),
        ("qk_head_dim", 0.3, [nope + rope]),
    ):
        if random.random() < often:
            config[name] = random.choice(values)
    return config, (tp, ep)


def deepseek_outline(config, dtype=lambda: "BF16", router_bias=None):
    """Names, dtypes and shapes of a DeepSeek model that is not quantised."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nope, rope, value = (config[k] for k in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    q_rank, kv_rank = config.get("q_lora_rank"), config["kv_lora_rank"]
    vocabulary, layers = config["vocab_size"], config["num_hidden_layers"]
    experts, shared = config["n_routed_experts"], config.get("n_shared_experts") or 0
    if router_bias is None:
        router_bias = router_has_bias(config)

    def linear(module, out_features, in_features, bias=False, kind=None):
        yield f"{module}.weight", kind or dtype(), (out_features, in_features)
        if bias:
            yield f"{module}.bias", kind or dtype(), (out_features,)

    def mlp(module, width, kinds=None):
        gate_up, down = kinds or (dtype(), dtype())
        yield from linear(module + ".gate_proj", width, hidden, kind=gate_up)
        yield from linear(module + ".up_proj", width, hidden, kind=gate_up)
        yield from linear(module + ".down_proj", hidden, width, kind=down)

    def layer(name, is_moe):
        yield f"{name}.input_layernorm.weight", dtype(), (hidden,)
        yield f"{name}.post_attention_layernorm.weight", dtype(), (hidden,)
        at, bias, a = name + ".self_attn.", config.get("attention_bias", False), dtype()
        if q_rank:
            yield from linear(at + "q_a_proj", q_rank, hidden, bias, a)
            yield at + "q_a_layernorm.weight", dtype(), (q_rank,)
            yield from linear(at + "q_b_proj", heads * (nope + rope), q_rank)
        else:
            yield from linear(at + "q_proj", heads * (nope + rope), hidden)
        yield from linear(at + "kv_a_proj_with_mqa", kv_rank + rope, hidden, bias, a)
        yield at + "kv_a_layernorm.weight", dtype(), (kv_rank,)
        yield from linear(at + "kv_b_proj", heads * (nope + value), kv_rank, kind="BF16")
        yield from linear(at + "o_proj", hidden, heads * value, bias)
        if not is_moe:
            yield from mlp(name + ".mlp", config["intermediate_size"])
            return
        yield f"{name}.mlp.gate.weight", dtype(), (experts, hidden)
        if router_bias:
            yield f"{name}.mlp.gate.e_score_correction_bias", "F32", (experts,)
        kinds = dtype(), dtype()
        for n in range(experts):
            yield from mlp(f"{name}.mlp.experts.{n}", config["moe_intermediate_size"], kinds)
        if shared:
            yield from mlp(f"{name}.mlp.shared_experts", config["moe_intermediate_size"] * shared)

    yield "model.embed_tokens.weight", dtype(), (vocabulary, hidden)
    for n in range(layers):
        yield from layer(f"model.layers.{n}", n >= config.get("first_k_dense_replace", 0))
    yield "model.norm.weight", dtype(), (hidden,)
    if not config.get("tie_word_embeddings"):
        yield "lm_head.weight", dtype(), (vocabulary, hidden)
    for n in range(layers, layers + (config.get("num_nextn_predict_layers") or 0)):
        name = f"model.layers.{n}"
        yield f"{name}.embed_tokens.weight", dtype(), (vocabulary, hidden)
        yield f"{name}.enorm.weight", dtype(), (hidden,)
        yield f"{name}.hnorm.weight", dtype(), (hidden,)
        yield f"{name}.eh_proj.weight", dtype(), (hidden, 2 * hidden)
        yield f"{name}.shared_head.norm.weight", dtype(), (hidden,)
        yield f"{name}.shared_head.head.weight", dtype(), (vocabulary, hidden)
        yield from layer(name, True)


def random_deepseek_outline(random, config):
    """As deepseek_outline, with dtypes that differ and with what may be there or not."""
    mixed, usual = random.random() < 0.5, random.choice(FLOATS)
    router_bias = router_has_bias(config) or ("topk_method" not in config and random.random() < 0.5)
    made = []
    for name, dtype, shape in deepseek_outline(config, lambda: random.choice(FLOATS) if mixed else usual, router_bias):
        if re.search(r"\.\d+\.(embed_tokens|shared_head\.head)\.weight$", name) and random.random() < 0.2:
            continue
        made.append((name, dtype, shape))
        if name.endswith(".o_proj.weight") and random.random() < 0.2:
            inv_freq = name.replace("o_proj.weight", "rotary_emb.inv_freq")
            made.append((inv_freq, "F32", (config["qk_rope_head_dim"] // 2,)))
    if config.get("tie_word_embeddings") and random.random() < 0.4:
        made.append(("lm_head.weight", usual, (config["vocab_size"], config["hidden_size"])))
    return made


@dataclass
class Made:
    """A checkpoint that was written, and how it can be loaded."""

    architecture: str
    options: list  # ways to tell the program what it is
    aim: tuple  # (tp, ep), as all that follow
    valid: list
    refused: list
    derives: bool = False  # are there parameters that only `--digest-after` has?


def made_llama(random, folder):
    config, aim = random_llama(random, folder)
    valid = [(tp, 1) for tp in possible_tp(config)]
    return Made("llama", [[], ["--arch", "llama"]], (aim, 1), valid, [])


def made_as_stored(random, folder):
    random_as_stored(random, folder)
    return Made("as_stored", [["--arch", "as_stored"]], (1, 1), [(1, 1), (2, 1), (3, 1)], [])


def splits(experts, most=8):
    """Ways to share out so many experts; every rank gets one."""
    return [(tp, ep) for tp in range(1, most + 1) for ep in range(1, min(tp, experts) + 1) if tp % ep == 0]


def write_quantised(random, folder, config, outline, made, all_splits):
    """Writes a checkpoint of this outline in the config's scheme, and finds out how it can be split."""
    write_folder(random, folder, config, list(filled(random, quantised(config, outline))))
    checkpoint = Checkpoint(folder)
    for split in all_splits:
        (made.valid if accepts(checkpoint, made.architecture, *split) else made.refused).append(split)
    if made.aim not in made.valid:
        raise ValueError(f"{config} was to be split by {made.aim}")
    if declared := config_of_quantisation(config):
        made.options += [[*option, "--quant", name_of_scheme(declared)] for option in made.options]
    return made


def name_of_scheme(declared):
    if declared["quant_method"] == "compressed-tensors":
        (group,) = declared["config_groups"].values()
        return "wna16" if (group["weights"].get("group_size") or -1) > 0 else "wna16_channel"
    return {"fp8": "fp8_block", "mxfp4": "mxfp4"}[declared["quant_method"]]


def random_llama_fp8_block(random, folder):
    config, aim, block = random_llama_fp8_block_config(random)
    outline = [tensor[:3] for tensor in llama_tensors(random, config)]
    declare_fp8_block(random, config, block, outline)
    made = Made("llama", [[], ["--arch", "llama"]], (aim, 1), [], [])
    return write_quantised(random, folder, config, outline, made, [(tp, 1) for tp in range(1, 9)])


def random_packing(random):
    """Bits, size of a group (None: one scale for each row) and the columns that a rank's share is a multiple of."""
    bits = random.choice([4, 4, 8])
    group = random.choice([8, 16, 16, None])
    return bits, group, group or 32 // bits


EXPRESSIONS = [
    "re:.*self_attn.*",
    "re:.*shared_experts.*",
    "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
    "re:.*\\.layers\\.[02]\\..*",
    "re:model\\.layers\\.\\d+\\.mlp\\.\\w+_proj$",
    "re:^language_model\\.model\\.layers\\.1\\.",
    "re:self_attn.*",
    "re:.*_proj.",
]


def declaration_of_packing(random, bits, group, ignored):
    """As compressed-tensors writes it, with more or less of what goes without saying."""
    weights = {"num_bits": bits}
    if group:
        weights["group_size"] = group
    elif random.random() < 0.5:
        weights["group_size"] = random.choice([None, -1])
    strategy = "group" if group else "channel"
    for name, value in (("type", "int"), ("strategy", strategy), ("symmetric", True), ("dynamic", False)):
        if random.random() < 0.7:
            weights[name] = value
    if random.random() < 0.5:
        weights["actorder"] = random.choice([None, "static", "weight"])
    declared = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
    declared["config_groups"] = {"group_0": {"targets": ["Linear"], "weights": weights}}
    if random.random() < 0.5:
        declared["config_groups"]["group_0"]["input_activations"] = None
    return declared | {"ignore": ignored}


def random_llama_packed(random, folder):
    bits, group, columns = random_packing(random)
    config, aim, _ = random_llama_fp8_block_config(random, (1, columns))
    heads, unit = config["num_attention_heads"], group or 1
    if not config.get("head_dim"):
        config["head_dim"] = config["hidden_size"] // heads
    config["hidden_size"] = unit * random.choice([1, 2, 3]) if group else random.choice([5, 24, 33])
    if group and (heads * config["head_dim"] % group or config["intermediate_size"] % group):
        bits, group, columns = bits, None, 32 // bits  # at tp 1 whole groups were not asked for
    outline = [tensor[:3] for tensor in llama_tensors(random, config)]
    ignored = random_ignore_list(random, outline) + random.sample(EXPRESSIONS, random.choice([0, 1, 1, 2]))
    config["quantization_config"] = declaration_of_packing(random, bits, group, ignored)
    made = Made("llama", [[], ["--arch", "llama"]], (aim, 1), [], [])
    return write_quantised(random, folder, config, outline, made, [(tp, 1) for tp in range(1, 9)])


def vision_outline(config, hidden, dtype):
    """Names, dtypes and shapes of Kimi-K2.5's vision tower and of what leads to the language model."""
    width, wide, patch = config["vt_hidden_size"], config["vt_intermediate_size"], config["patch_size"]
    merged = width * config["merge_kernel_size"][0] * config["merge_kernel_size"][1]

    def module(name, *shape, bias=None):
        yield name + ".weight", dtype(), shape
        yield name + ".bias", dtype(), (bias or shape[0],)

    yield from module("vision_tower.patch_embed.proj", width, 3, patch, patch)
    size = config["init_pos_emb_height"], config["init_pos_emb_width"]
    yield "vision_tower.patch_embed.pos_emb.weight", dtype(), (*size, width)
    for n in range(config["vt_num_hidden_layers"]):
        block = f"vision_tower.encoder.blocks.{n}."
        for name, *shape in (
            ("norm0", width),
            ("norm1", width),
            ("wqkv", 3 * width, width),
            ("wo", width, width),
            ("mlp.fc0", wide, width),
            ("mlp.fc1", width, wide),
        ):
            yield from module(block + name, *shape)
    yield from module("vision_tower.encoder.final_layernorm", width)
    yield from module("mm_projector.pre_norm", width)
    yield from module("mm_projector.proj.0", merged, merged)
    yield from module("mm_projector.proj.2", hidden, merged)


def random_kimi(random, folder):
    """A DeepSeek-V3 inside, its experts packed (or plain); attention stays plain, as it is in the public files."""
    bits, group, columns = random_packing(random)
    packed = random.random() < 0.8
    text, aim = random_deepseek_config(random, (1, columns) if packed else None)
    tp = aim[0]
    ignored = None
    if packed:
        text["hidden_size"] = columns * random.choice([1, 2, 3])
        for key in ("intermediate_size", "moe_intermediate_size"):
            text[key] *= columns // math.gcd(text[key], columns)  # where no rank divides them they may be odd
        ignored = ["lm_head", EXPRESSIONS[0], *random.sample(EXPRESSIONS[1:], random.choice([0, 1, 2, 3]))]
    heads = tp * random.choice([1, 2])
    config = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": text,
        "vision_config": {
            "vt_hidden_size": heads * random.choice([2, 3, 6]),
            "vt_intermediate_size": random.choice([8, 17]),
            "vt_num_attention_heads": heads,
            "vt_num_hidden_layers": random.choice([1, 2, 3]),
            "patch_size": random.choice([2, 3]),
            "init_pos_emb_height": random.choice([2, 3]),
            "init_pos_emb_width": random.choice([2, 4]),
            "merge_kernel_size": random.choice([[2, 2], [1, 2]]),
        },
    }
    dtype = random.choice(FLOATS)
    language = random_deepseek_outline(random, text)
    outline = [("language_model." + name, *rest) for name, *rest in language]
    if packed:
        place = random.choice([config, text, text])
        place["quantization_config"] = declaration_of_packing(random, bits, group, ignored)
    outline += list(vision_outline(config["vision_config"], text["hidden_size"], lambda: dtype))
    made = Made("kimi_k25", [[], ["--arch", "kimi_k25"]], aim, [], [], True)
    return write_quantised(random, folder, config, outline, made, splits(text["n_routed_experts"]))


def random_gpt_oss(random, folder):
    """Experts in blocks of MXFP4, which are cut unevenly, or in plain numbers."""
    tp = random.choice([1, 1, 2, 2, 4, 8])
    ep = random.choice([n for n in (1, 2, 4, 8) if tp % n == 0])
    quantised = random.random() < 0.7
    kv_heads = random.choice([n for n in (1, 2, 4, 8) if n <= 2 * tp])
    heads = kv_heads * random.choice([n for n in (1, 2, 4, 8) if kv_heads * n % tp == 0])
    head_dim, experts = random.choice([2, 4, 6]), random.choice([n for n in range(1, 10) if n >= ep])
    hidden = 32 * random.choice([1, 2, 3]) if quantised else random.choice([5, 24, 33])
    width = 32 * random.choice([1, 2, 3, 5]) if quantised else tp // ep * random.choice([1, 3, 5])
    vocabulary, layers = 64 * random.choice([1, 2]) - random.choice([0, 1, 7, 63]), random.choice([1, 2, 3])
    config = {
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        random.choice(["num_local_experts", "num_experts"]): experts,
        "num_experts_per_tok": 1,
        "vocab_size": vocabulary,
    }
    if random.random() < 0.5:
        config["attention_bias"] = random.choice([True, True, False])
    if random.random() < 0.5:
        config["tie_word_embeddings"] = random.choice([False, True])
    if quantised:
        config["quantization_config"] = {"quant_method": "mxfp4"}
        if random.random() < 0.7:
            names = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
            config["quantization_config"]["modules_to_not_convert"] = names
    mixed, usual = random.random() < 0.5, random.choice(FLOATS)

    def dtype():
        return random.choice(FLOATS) if mixed else usual

    outline = [("model.embed_tokens.weight", dtype(), (vocabulary, hidden))]
    for n in range(layers):
        layer = f"model.layers.{n}."
        outline += [(f"{layer}{norm}_layernorm.weight", dtype(), (hidden,)) for norm in ("input", "post_attention")]
        at, weight, bias = layer + "self_attn.", dtype(), dtype()
        for which, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            outline.append((f"{at}{which}_proj.weight", weight, (count * head_dim, hidden)))
            if config.get("attention_bias", True):
                outline.append((f"{at}{which}_proj.bias", bias, (count * head_dim,)))
        outline += [(at + "o_proj.weight", dtype(), (hidden, heads * head_dim)), (at + "sinks", dtype(), (heads,))]
        if config.get("attention_bias", True):
            outline.append((at + "o_proj.bias", dtype(), (hidden,)))
        outline += [(layer + "mlp.router.weight", dtype(), (experts, hidden))]
        outline += [(layer + "mlp.router.bias", dtype(), (experts,))]
        at = layer + "mlp.experts."
        outline += [(at + "gate_up_proj_bias", dtype(), (experts, 2 * width))]
        outline += [(at + "down_proj_bias", dtype(), (experts, hidden))]
        if quantised:
            for name, height, line in (("gate_up_proj", 2 * width, hidden), ("down_proj", hidden, width)):
                outline += [(f"{at}{name}_blocks", "U8", (experts, height, line // 32, 16))]
                outline += [(f"{at}{name}_scales", "U8", (experts, height, line // 32))]
        else:
            outline += [(at + "gate_up_proj", dtype(), (experts, hidden, 2 * width))]
            outline += [(at + "down_proj", dtype(), (experts, width, hidden))]
    outline.append(("model.norm.weight", dtype(), (hidden,)))
    if not config.get("tie_word_embeddings") or random.random() < 0.3:
        outline.append(("lm_head.weight", dtype(), (vocabulary, hidden)))
    made = Made("gpt_oss", [[], ["--arch", "gpt_oss"]], (tp, ep), [], [])
    return write_quantised(random, folder, config, outline, made, splits(experts))


def random_deepseek(random, folder):
    """Plain, or in blocks of FP8; sometimes it is the draft model that is to be loaded."""
    block = random.choice([None, None, None, None, *BLOCKS])
    config, aim = random_deepseek_config(random, block)
    outline = random_deepseek_outline(random, config)
    if block:
        declare_fp8_block(random, config, block, outline)
    if config.get("num_nextn_predict_layers") == 1 and random.random() < 0.4:
        made = Made("deepseek_v3_mtp", [["--arch", "deepseek_v3_mtp"]], aim, [], [], True)
    else:
        made = Made("deepseek_v3", [[], ["--arch", "deepseek_v3"], ["--arch", "deepseek_v2"]], aim, [], [], True)
    return write_quantised(random, folder, config, outline, made, splits(config["n_routed_experts"]))


NAMES = [
    "w",
    "layer.weight",
    "a.very.long.name." + "x" * 300,
    "with space",
    'quote"and\\backslash',
    "ünïcode.重み",
    "slash/in/name",
    "../escape",
    "tab\tand\nnewline",
    "%41",
    "emoji.\U0001f600",
    ".",
    "UPPER.lower",
    "0",
]


def random_as_stored_tensors(random):
    made, used = [], set()
    for n in range(random.randrange(1, 40)):
        name = random.choice(NAMES) if random.random() < 0.4 else f"block.{random.randrange(100)}.t{n}"
        if name in used:
            continue
        used.add(name)
        dtype = random.choice(sorted(BITS))
        rank = random.choice([0, 1, 1, 2, 2, 3, 5])
        shape = [
            (
                random.choice([0, 1, 2, 3, 5, 8, 17] if rank > 3 else [0, 1, 2, 3, 7, 16, 33, 100])
                if random.random() < 0.97
                else 1000
            )
            for _ in range(rank)
        ]
        if BITS[dtype] % 8:  # whole bytes: four elements of 6 bits, two of 4
            shape = shape or [4]
            shape[-1] = (shape[-1] + 3) // 4 * 4
        while size_in_bytes(dtype, shape) > 400_000:
            largest = shape.index(max(shape))
            shape[largest] = max(4, shape[largest] // 8 * 4)
        made.append(random_tensor(random, name, dtype, shape))
    return made


def random_as_stored(random, folder):
    """A random checkpoint of any dtypes, names and ranks, with no architecture."""
    write_folder(
        random, folder, {"model_type": "anything", "architectures": ["AnythingAtAll"]}, random_as_stored_tensors(random)
    )
