"""Random checkpoints of the architectures beside Llama and DeepSeek, as generators.py makes those."""

from dataclasses import dataclass

from .architectures import has_experts, heads_of
from .generators import BLOCKS, FLOATS, Made, declare_fp8_block, pick, pick_expert_width, splits, write_quantised


@dataclass
class Family:
    """What sets an architecture apart; `None`: as the config says, by the flag `attention_bias`."""

    name: str
    model_class: str
    qkv_bias: bool = None
    o_bias: bool = None
    head_norms: bool = False
    four_norms: bool = False
    experts: str = None  # the config's key for their number
    tied: bool = False  # where the config does not say


FAMILIES = [
    Family("mistral", "MistralForCausalLM", qkv_bias=False, o_bias=False),
    Family("qwen2", "Qwen2ForCausalLM", qkv_bias=True, o_bias=False),
    Family("qwen3", "Qwen3ForCausalLM", head_norms=True),
    Family("qwen3_moe", "Qwen3MoeForCausalLM", head_norms=True, experts="num_experts"),
    Family("mixtral", "MixtralForCausalLM", qkv_bias=False, o_bias=False, experts="num_local_experts"),
    Family("glm4_moe", "Glm4MoeForCausalLM", o_bias=False, experts="n_routed_experts"),
    Family("gemma2", "Gemma2ForCausalLM", four_norms=True, tied=True),
    Family("gemma3", "Gemma3ForCausalLM", head_norms=True, four_norms=True, tied=True),
]
BY_NAME = {family.name: family for family in FAMILIES}


def random_config(random, family, block=None):
    """A config and the (tp, ep) to aim at, which cut no block of this size."""
    block_n, block_k = block or (1, 1)
    tp = random.choice([1, 1, 2, 2, 3, 4, 4, 8])
    ep = random.choice([n for n in range(1, tp + 1) if tp % n == 0]) if family.experts else 1
    kv_heads = random.choice([n for n in (1, 2, 3, 4, 8) if tp % n == 0 or n % tp == 0])
    group = random.choice([n for n in range(1, 9) if kv_heads * n % tp == 0 and kv_heads * n <= 16])
    heads = kv_heads * group
    q, kv = heads // tp, max(1, kv_heads // tp)
    head_dim = pick(
        random,
        48,
        lambda n: n % 2 == 0 and q * n % block_n == 0 and kv * n % block_n == 0,
        lambda n: tp == 1 or q * n % block_k == 0,
    )
    explicit = random.random() < 0.7
    unit, layers = 192 if tp == 3 else 64, random.choice([1, 2, 2, 3])
    width = tp * pick(random, 60, lambda n: n % block_n == 0 and (tp == 1 or n % block_k == 0))
    config = {
        "architectures": [family.model_class],
        "model_type": family.name,
        "hidden_size": random.choice([5, 8, 24, 33, 40]) if explicit else heads * head_dim,
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": unit * random.choice([1, 2]) - random.choice([0, 1, 7, 63]),
        "max_position_embeddings": 128,
    }
    if explicit:
        config["head_dim"] = head_dim
    for name, often, values in (("tie_word_embeddings", 0.6, [False, True]), ("attention_bias", 0.5, [False, True])):
        if random.random() < often:
            config[name] = random.choice(values)
    if family.experts:
        add_experts(random, family, config, (tp, ep), block)
    return config, (tp, ep)


def add_experts(random, family, config, aim, block):
    (tp, ep), (block_n, block_k) = aim, block or (1, 1)
    expert_tp, layers = tp // ep, config["num_hidden_layers"]
    glm = family.name == "glm4_moe"
    shared = random.choice([0, 1, 1, 2]) if glm else 0
    width = pick_expert_width(random, tp, expert_tp, shared, block_n, block_k)
    config["intermediate_size" if family.name == "mixtral" else "moe_intermediate_size"] = width
    config[family.experts] = random.choice([n for n in range(1, 10) if n >= ep])
    config["num_experts_per_tok"] = 1
    if family.name == "qwen3_moe":
        if random.random() < 0.4:
            config["mlp_only_layers"] = random.choice([[], [0], [1], [0, 2]])
        if random.random() < 0.4:
            config["decoder_sparse_step"] = random.choice([1, 1, 2])
    if glm:
        config["n_shared_experts"] = shared
        config["first_k_dense_replace"] = random.choice([0, 1, 1, layers])
        for name, values in (("use_qk_norm", [False, True]), ("num_nextn_predict_layers", [0, 1, 1, 2])):
            if random.random() < 0.7:
                config[name] = random.choice(values)


class Outline:
    """Names, dtypes and shapes of a model that is not quantised. `in_one`: all experts of a layer lie in one tensor."""

    def __init__(self, random, family, config, in_one=False):
        self.family, self.config, self.in_one, self.made = family, config, in_one, []
        self.hidden = config["hidden_size"]
        mixed, usual = random.random() < 0.5, random.choice(FLOATS)
        self.dtype = lambda: random.choice(FLOATS) if mixed else usual

    def add(self, name, *shape, dtype=None):
        self.made.append((name, dtype or self.dtype(), shape))

    def linear(self, module, out_features, in_features, bias=False, kinds=None):
        weight, offset = kinds or (self.dtype(), self.dtype())
        self.add(module + ".weight", out_features, in_features, dtype=weight)
        if bias:
            self.add(module + ".bias", out_features, dtype=offset)

    def mlp(self, module, width, kinds=None, names=("gate_proj", "up_proj", "down_proj")):
        up, down = kinds or (self.dtype(), self.dtype())
        for which in names[:2]:
            self.linear(f"{module}.{which}", width, self.hidden, kinds=(up, None))
        self.linear(f"{module}.{names[2]}", self.hidden, width, kinds=(down, None))

    def attention(self, layer):
        family, (heads, kv_heads, head_dim) = self.family, heads_of(self.config)
        says = self.config.get("attention_bias", False)
        kinds = self.dtype(), self.dtype()
        for which, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            bias = says if family.qkv_bias is None else family.qkv_bias
            self.linear(f"{layer}.self_attn.{which}_proj", count * head_dim, self.hidden, bias, kinds)
        bias = says if family.o_bias is None else family.o_bias
        self.linear(layer + ".self_attn.o_proj", self.hidden, heads * head_dim, bias)
        if family.head_norms or self.config.get("use_qk_norm"):
            for which in "qk":
                self.add(f"{layer}.self_attn.{which}_norm.weight", head_dim)

    def experts(self, layer):
        mixtral, count = self.family.name == "mixtral", self.config[self.family.experts]
        width = self.config["intermediate_size" if mixtral else "moe_intermediate_size"]
        module = layer + (".block_sparse_moe" if mixtral and not self.in_one else ".mlp")
        self.add(module + ".gate.weight", count, self.hidden)
        if self.in_one:
            self.add(module + ".experts.gate_up_proj", count, 2 * width, self.hidden)
            self.add(module + ".experts.down_proj", count, self.hidden, width)
        else:
            names = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
            kinds = self.dtype(), self.dtype()
            for n in range(count):
                self.mlp(f"{module}.experts.{n}", width, kinds, names)
        if self.family.name == "glm4_moe":
            self.add(module + ".gate.e_score_correction_bias", count, dtype="F32")
            if self.config.get("n_shared_experts"):
                self.mlp(module + ".shared_experts", width * self.config["n_shared_experts"])

    def layer(self, n, dense):
        layer = f"model.layers.{n}"
        names = ["input_layernorm", "post_attention_layernorm"]
        if self.family.four_norms:
            names += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        for norm in names:
            self.add(f"{layer}.{norm}.weight", self.hidden)
        self.attention(layer)
        if dense:
            self.mlp(layer + ".mlp", self.config["intermediate_size"])
        else:
            self.experts(layer)

    def model(self, stored_head):
        config, hidden, vocabulary = self.config, self.hidden, self.config["vocab_size"]
        layers, dense = config["num_hidden_layers"], config.get("first_k_dense_replace", 0)
        self.add("model.embed_tokens.weight", vocabulary, hidden)
        for n in range(layers):
            self.layer(n, n < dense or not has_experts(config, n) if self.family.experts else True)
        self.add("model.norm.weight", hidden)
        if stored_head or not config.get("tie_word_embeddings", self.family.tied):
            self.add("lm_head.weight", vocabulary, hidden)
        for n in range(layers, layers + config.get("num_nextn_predict_layers", 0)):
            self.layer(n, False)
            layer = f"model.layers.{n}."
            for name, *shape in (
                ("embed_tokens", vocabulary, hidden),
                ("enorm", hidden),
                ("hnorm", hidden),
                ("eh_proj", hidden, 2 * hidden),
                ("shared_head.norm", hidden),
                ("shared_head.head", vocabulary, hidden),
            ):
                self.add(f"{layer}{name}.weight", *shape)
        return self.made


def random_of(random, folder, family):
    block = random.choice([None, None, None, *BLOCKS]) if random.random() < 0.5 else None
    config, aim = random_config(random, family, block)
    in_one = bool(family.experts) and not block and random.random() < 0.4
    outline = Outline(random, family, config, in_one).model(random.random() < 0.3)
    if random.random() < 0.2:
        outline.append(("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", (4,)))
    if block:
        declare_fp8_block(random, config, block, outline)
    made = Made(family.name, [[], ["--arch", family.name]], aim, [], [])
    ways = splits(config[family.experts]) if family.experts else [(tp, 1) for tp in range(1, 9)]
    return write_quantised(random, folder, config, outline, made, ways)


def random_family(random, folder):
    return random_of(random, folder, random.choice(FAMILIES))


def random_bert(random, folder):
    """With or without a prefix, a pooler, the buffer of positions, and the head that only one class has."""
    tp = random.choice([1, 1, 2, 3, 4, 8])
    heads = tp * random.choice([1, 1, 2])
    hidden, width, layers = heads * random.choice([2, 4, 6]), tp * random.choice([1, 3, 8, 17]), random.choice([1, 2, 3])
    model_class = random.choice(["BertModel", "BertForMaskedLM"])
    vocabulary = (192 if tp == 3 else 64) * random.choice([1, 2]) - random.choice([0, 1, 7, 63])
    config = {
        "architectures": [model_class],
        "model_type": "bert",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "num_attention_heads": heads,
        "vocab_size": vocabulary,
        "max_position_embeddings": random.choice([16, 33]),
        "type_vocab_size": random.choice([1, 2]),
    }
    o = Outline(random, None, config)

    def norm(name):
        o.add(name + ".weight", hidden)
        o.add(name + ".bias", hidden)

    for name, rows in (("word", vocabulary), ("position", config["max_position_embeddings"])):
        o.add(f"embeddings.{name}_embeddings.weight", rows, hidden)
    o.add("embeddings.token_type_embeddings.weight", config["type_vocab_size"], hidden)
    norm("embeddings.LayerNorm")
    for n in range(layers):
        layer, kinds = f"encoder.layer.{n}.", (o.dtype(), o.dtype())
        for which in ("query", "key", "value"):
            o.linear(f"{layer}attention.self.{which}", hidden, hidden, True, kinds)
        o.linear(layer + "attention.output.dense", hidden, hidden, True)
        norm(layer + "attention.output.LayerNorm")
        o.linear(layer + "intermediate.dense", width, hidden, True)
        o.linear(layer + "output.dense", hidden, width, True)
        norm(layer + "output.LayerNorm")
    if model_class == "BertModel" or random.random() < 0.3:
        o.linear("pooler.dense", hidden, hidden, True)
    if random.random() < 0.4:
        o.add("embeddings.position_ids", 1, config["max_position_embeddings"], dtype="I64")
    prefix = "bert." if model_class == "BertForMaskedLM" or random.random() < 0.3 else ""
    outline = [(prefix + name, *rest) for name, *rest in o.made]
    if model_class == "BertForMaskedLM":
        outline += [("cls.predictions.bias", "F32", (vocabulary,))]
        outline += [("cls.predictions.transform.dense.weight", "F32", (hidden, hidden))]
    made = Made("bert", [[], ["--arch", "bert"]], (tp, 1), [], [])
    return write_quantised(random, folder, config, outline, made, [(tp, 1) for tp in range(1, 9)])


QWEN_VL = {  # the text's family, and the class
    2: (BY_NAME["qwen2"], "Qwen2VLForConditionalGeneration"),
    2.5: (BY_NAME["qwen2"], "Qwen2_5_VLForConditionalGeneration"),
    3: (BY_NAME["qwen3"], "Qwen3VLForConditionalGeneration"),
}


def vision_outline(o, vision, kind):
    """Names and shapes of a vision tower and its mergers, into the outline of the text."""
    width, merge = vision["embed_dim" if kind == 2 else "hidden_size"], vision["spatial_merge_size"]
    out, merged = vision["hidden_size" if kind == 2 else "out_hidden_size"], width * merge * merge
    between = vision["mlp_ratio"] * width if kind == 2 else vision["intermediate_size"]
    patch = vision["patch_size"]

    def norm(name, size):
        o.add(name + ".weight", size)
        if kind != 2.5:
            o.add(name + ".bias", size)

    o.add("visual.patch_embed.proj.weight", width, vision.get("in_channels", 3), vision["temporal_patch_size"], patch, patch)
    if kind == 3:
        o.add("visual.patch_embed.proj.bias", width)
        o.add("visual.pos_embed.weight", vision["num_position_embeddings"], width)
    for n in range(vision["depth"]):
        block = f"visual.blocks.{n}."
        norm(block + "norm1", width)
        norm(block + "norm2", width)
        o.linear(block + "attn.qkv", 3 * width, width, True)
        o.linear(block + "attn.proj", width, width, True)
        kinds = o.dtype(), o.dtype()
        ups, down = {2: (["fc1"], "fc2"), 2.5: (["gate_proj", "up_proj"], "down_proj"), 3: (["linear_fc1"], "linear_fc2")}[kind]
        for name in ups:
            o.linear(f"{block}mlp.{name}", between, width, True, kinds)
        o.linear(f"{block}mlp.{down}", width, between, True)
    mergers = [("visual.merger.", width)]
    mergers += [(f"visual.deepstack_merger_list.{n}.", merged) for n in range(len(vision.get("deepstack_visual_indexes", [])))]
    for merger, normed in mergers:
        norm(merger + ("norm" if kind == 3 else "ln_q"), normed)
        o.linear(merger + ("linear_fc1" if kind == 3 else "mlp.0"), merged, merged, True)
        o.linear(merger + ("linear_fc2" if kind == 3 else "mlp.2"), out, merged, True)


def random_qwen_vl(random, folder):
    """The names of old files or of new ones, a flat config or a nested one."""
    kind = random.choice(list(QWEN_VL))
    family, model_class = QWEN_VL[kind]
    block = random.choice([None, None, None, *BLOCKS]) if random.random() < 0.5 else None
    text, (tp, _) = random_config(random, family, block)
    heads, merge = tp * random.choice([1, 2]), random.choice([1, 2])
    width = heads * random.choice([2, 4])
    vision = {
        "depth": random.choice([1, 2, 5]),
        "num_heads": heads,
        "patch_size": random.choice([2, 3]),
        "temporal_patch_size": random.choice([1, 2]),
        "spatial_merge_size": merge,
        "in_chans": 3,
    }
    if kind == 2:
        vision |= {"embed_dim": width, "hidden_size": text["hidden_size"], "mlp_ratio": random.choice([2, 4])}
    else:
        between = random.choice([1, 7, 21, 24]) if kind == 2.5 else tp * random.choice([1, 3])
        vision |= {"hidden_size": width, "out_hidden_size": text["hidden_size"], "intermediate_size": between}
    if kind == 3:
        vision |= {"num_position_embeddings": 9, "deepstack_visual_indexes": random.choice([[], [0], [0, 0]])}
    if random.random() < 0.3:
        vision["in_channels"] = random.choice([1, 3])
    outline = Outline(random, family, text)
    vision_outline(outline, vision, kind)
    made = outline.model(random.random() < 0.3)
    config = text | {"architectures": [model_class], "vision_config": vision}
    if random.random() < 0.5:
        config = {"architectures": [model_class], "text_config": text, "vision_config": vision}
        del text["architectures"]
    new_names = random.choice([("model.", "visual."), ("model.language_model.", "model.visual."), ("model.language_model.", "visual.")])
    names = dict(zip(("model.", "visual."), new_names))
    if block:
        config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": list(block)}
    made = [(next((names[old] + name[len(old) :] for old in names if name.startswith(old)), name), *rest) for name, *rest in made]
    checkpoint = Made("qwen_vl", [[], ["--arch", "qwen_vl"]], (tp, 1), [], [])
    return write_quantised(random, folder, config, made, checkpoint, [(n, 1) for n in range(1, 9)])
