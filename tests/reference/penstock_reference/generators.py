"""Random checkpoints, each made by one seed. All bytes are random, so a wrong slice gives a wrong digest."""

import json
import pathlib

from .safetensors import BITS, size_in_bytes, write_file

METADATA = [(), {}, None, {"format": "pt"}, {"format": "pt", "note": 'ü " \\ \n'}]
FLOATS = ["F32", "F16", "BF16"]


def random_tensor(random, name, dtype, shape):
    return name, dtype, tuple(shape), random.randbytes(size_in_bytes(dtype, shape))


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
    for piece in ("gate_proj", "up_proj"):
        name = name.replace("." + piece + ".", ".gate_up_proj.")
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
