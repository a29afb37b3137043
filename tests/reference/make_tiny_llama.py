"""Makes tests/data/tiny_llama_*: small random Llama models as transformers saves them, and what they must answer.

For each model NAME:  NAME/               config, tokenizer, several shards and their index
                      NAME.generate.json  prompts, their ids, 24 greedy ids and some logits, from transformers in float32
                      NAME.tpN.digest     what `penstock load --tp N --digest` must write, from the reference
"""

import json
import pathlib
import shutil
import subprocess
import sys

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
TOKENS = 24
PROMPTS = [
    "The river fills the reservoir",
    "In 1976, 42 gates opened;\n  two stayed shut.",
    "Größe: 3 m² – naïve café 水",
]
TEXT = """The penstock carries water from the reservoir to the turbine, and the gate at its head decides how much.
When the gate opens, the water falls; when it falls, the turbine turns; when the turbine turns, the town has light.
Rain fills the river, the river fills the lake, and the lake waits behind the dam for the next dry summer.
An engineer counts: 1, 2, 3, 10, 42, 1976. She writes the numbers down and reads them again in the evening.
    if (level > full) { open(gate); } else { shut(gate); }
"""

BASE = {
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "initializer_range": 0.35,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
MODELS = {
    # 6 heads share 3 key and value heads; the head is tied; 350 rows of vocabulary are padded to 384.
    "tiny_llama_tied": (
        dict(
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=3,
            num_attention_heads=6,
            num_key_value_heads=3,
            vocab_size=350,
            tie_word_embeddings=True,
        ),
        [1, 3, 6],
    ),
    # 8 heads share 2; the head dimension is not hidden / heads; 300 rows are padded to 320.
    "tiny_llama_untied": (
        dict(
            hidden_size=64,
            intermediate_size=136,
            num_hidden_layers=2,
            num_attention_heads=8,
            num_key_value_heads=2,
            head_dim=16,
            vocab_size=300,
            tie_word_embeddings=False,
        ),
        [1, 2, 4, 8],
    ),
    # All biases there are.
    "tiny_llama_bias": (
        dict(
            hidden_size=32,
            intermediate_size=84,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            vocab_size=320,
            tie_word_embeddings=False,
            attention_bias=True,
            mlp_bias=True,
        ),
        [1, 2, 4],
    ),
}


def make_tokenizer(vocabulary):
    """Byte-level BPE, split as SmolLM2's tokenizer does it."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>"],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )


def make_model(config, seed):
    """Weights that bf16 can hold, in float32. Only they are rounded: buffers such as the rotary frequencies are not."""
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.normal_(1.0, 0.2)
            elif name.endswith("bias"):
                parameter.normal_(0.0, 0.3)
            parameter.copy_(parameter.to(torch.bfloat16))
    return model


def answer(model, tokenizer, prompt):
    """Greedy ids, the logits of the first step, and by how much each best logit led."""
    ids = tokenizer.encode(prompt)
    given, first, lead = list(ids), None, []
    with torch.no_grad():
        for _ in range(TOKENS):
            logits = model(torch.tensor([ids])).logits[0, -1]
            first = logits.tolist() if first is None else first
            best, second = torch.topk(logits, 2).values.tolist()
            lead.append(best - second)
            ids.append(int(torch.argmax(logits)))
    made = ids[len(given) :]
    generated = model.generate(torch.tensor([given]), do_sample=False, max_new_tokens=TOKENS, min_new_tokens=TOKENS)
    if model.config.eos_token_id not in made and generated[0, len(given) :].tolist() != made:
        raise SystemExit("generate() and the plain loop disagree")
    return {
        "prompt": prompt,
        "prompt_ids": given,
        "ids": made,
        "text": tokenizer.decode(made),
        "least_lead": round(min(lead), 6),
        "first_logits": [round(x, 5) for x in first],
    }


def main():
    for name, (sizes, tps) in MODELS.items():
        folder = DATA / name
        shutil.rmtree(folder, ignore_errors=True)
        for old in DATA.glob(name + ".*"):
            old.unlink()
        tokenizer = make_tokenizer(sizes["vocab_size"])
        config = transformers.LlamaConfig(**BASE, **sizes)
        for seed in range(1000):  # the first seed whose answers are no matter of rounding and do not end early
            model = make_model(config, seed)
            answers = [answer(model, tokenizer, prompt) for prompt in PROMPTS]
            if all(
                a["least_lead"] > 0.02 and BASE["eos_token_id"] not in a["ids"] and len(set(a["ids"])) > 8
                for a in answers
            ):
                break
        else:
            raise SystemExit(f"{name}: no seed gives clear answers")
        model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="60KB")
        loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        if [answer(loaded, tokenizer, prompt) for prompt in PROMPTS] != answers:
            raise SystemExit(f"{name}: what was saved does not answer as what was made")
        tokenizer.save_pretrained(folder)
        for file in folder.iterdir():
            file.chmod(0o644)
        record = {
            "made_by": {"torch": torch.__version__, "transformers": transformers.__version__},
            "seed": seed,
            "tp": tps,
            "tokens": TOKENS,
            "answers": answers,
        }
        (DATA / f"{name}.generate.json").write_text(json.dumps(record, ensure_ascii=False) + "\n")
        for tp in tps:
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "penstock_reference",
                    str(folder),
                    "--tp",
                    str(tp),
                    "--digest",
                    str(DATA / f"{name}.tp{tp}.digest"),
                ],
                cwd=HERE,
                check=True,
            )
        print(f"{name}: seed {seed}, least lead {min(a['least_lead'] for a in answers):.3f}")


if __name__ == "__main__":
    main()
