#!/usr/bin/env python3
"""Records what `transformers` and `tokenizers` say about SmolLM2, for the tests of examples/generate.

    record_generate.py MODEL_FOLDER DATA_FOLDER

MODEL_FOLDER is what examples/quickstart/convert_smollm2.py wrote; DATA_FOLDER is tests/data/smollm2. Writes

    greedy.json           24 greedy tokens in float32 for three prompts, and the least distance of the two best logits;
                          and the ids of some texts by the model's tokenizer.json
    small/tokenizer.json  the same tokenizer cut down to its first merges, small enough to keep with the tests
    small/cases.json      ids and decoded texts by that, for many texts

Packages: requirements.txt.
"""

import json
import random
import sys
from pathlib import Path

import tokenizers
import torch
import transformers

TOKENS = 24
SMALL_MERGES = 1500
LEAST_MARGIN = 0.02  # sums in another order move logits by less than a thousandth

PROMPTS = [
    "The capital of France is",
    "Über 3 Städte:\n1. Köln\n2.\tMünchen  \n3. ",
    "def fib(n):\n\tif n < 2:\n\t\treturn n\n",
]

CASES = [
    "", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n", "\n ", "  \n  \n", "\u00a0", "\u3000", "\u2003x",
    "a\u00a0b", "x\u0085y",
    "Hello", "Hello world", " Hello world", "  Hello  world  ", "Hello\nworld\n", "a\tb\t\tc", "tab \t space", "a   b",
    "end in spaces   ", "   \tindent", "\u200bzero width\u200b", "\ufeffbom",
    "1", "12", "123", "1234567890", "3.14159", "1,000,000", "2024-01-15T10:30:00Z", " 1", "  1", "a1b2", "x 1 y  2",
    "v1.2.3-rc4",
    "١٢٣", "½ ² ₃ Ⅷ ⑩", "五〇", "1\u0300",
    "I'm you're he'll we've they'd isn't it's", "I'M YOU'RE HE'LL", "'s't're've'm'll'd", "rock 'n' roll", "'' ''' ' s",
    "don’t", "“quoted”", "'tis", "x'y'z'",
    "naïve café", "Ångström", "e\u0301 n\u0303", "Zażółć gęślą jaźń", "Ünïcödé ŸÆŒ ß ſ",
    "東京", "你好，世界！", "こんにちは 世界", "안녕하세요 세계", "Привет, мир", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "ไทย",
    "😀", "😀😃", "👩‍👩‍👧‍👦", "🇫🇷🇩🇪", "👍🏽 ok", "a😀b", "𝒳 𝟘 𐍈", "\U0001f9ff\U0010fffd",
    "def f(x):\n    return x ** 2  # square\n", "int main() { return 0; }", "a += b; c != d && e || !f",
    "<html><b>x</b></html>",
    "https://example.org/a?b=c&d=%20#e", "C:\\dir\\file.txt", "{\"key\": [1, 2.5, null]}", "$x^2 + y_1$",
    "!!!???...---", "____ ====",
    "<|im_start|>user\nHi<|im_end|>\n", "<|endoftext|>", "a<|im_end|>b", " <|im_end|> ", "<|im_end|><|im_end|>",
    "<|im_end|", "<|im_END|>",
    "<repo_name>x<file_sep>y", "<repo_name", "<|im_<|im_start|>start|>", "<filename>123", "  <issue_start>\t",
    "\x00", "a\x00b", "\x01\x02\x1f\x7f", "\u0080\u009f", "\u00ad", "\ue000\uf8ff", "\ufffd", "\uffff", "\U000e0041",
    "supercalifragilisticexpialidocious", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", " " * 100, "\n" * 33, "ab" * 60,
    "9" * 40,
    "The quick brown fox jumps over the lazy dog. THE QUICK BROWN FOX? 0 foxes!",
]

ALPHABET = list(" \n\t'aeiosttrmvdlL09,.!<|>_") + [
    "é", "ß", "東", "😀", "\u00a0", "\u0301", "٣", "½", "\u2003", "ing", " the", "'ll", "<|im_end|>",
]


def random_texts(count):
    rng = random.Random(20)
    return ["".join(rng.choices(ALPHABET, k=rng.randint(1, 40))) for _ in range(count)]


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


def write_cases(path, tokenizer, count):
    """One case a line: the text, its ids, what the ids say, and what they say without special tokens."""
    lines = []
    for text in CASES + PROMPTS + random_texts(count):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        lines.append(json.dumps({
            "text": text,
            "ids": ids,
            "decoded": tokenizer.decode(ids, skip_special_tokens=False),
            "plain": tokenizer.decode(ids, skip_special_tokens=True),
        }))
    # ids that end within a character, and in any order
    rng = random.Random(21)
    ids_only = []
    for _ in range(40):
        ids = [rng.randrange(min(800, tokenizer.get_vocab_size())) for _ in range(rng.randint(1, 12))]
        ids_only.append(json.dumps({"ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"cases": [\n' + ",\n".join(lines) + '\n],\n"decode": [\n' + ",\n".join(ids_only) + "\n]}\n",
                    encoding="ascii")
    print(f"{path}: {len(lines)} texts, {len(ids_only)} id lists")


def cut_down(tokenizer_file):
    """The same kind of tokenizer with only the first merges, its ids closed up."""
    whole = json.loads(tokenizer_file.read_text(encoding="utf-8"))
    vocab = whole["model"]["vocab"]
    merges = whole["model"]["merges"][:SMALL_MERGES]
    made = {"".join(m.split(" ") if isinstance(m, str) else m) for m in merges}
    special = {t["content"] for t in whole["added_tokens"]}
    kept = [t for t in sorted(vocab, key=vocab.get) if t in special or len(t) == 1 or t in made]
    ids = {t: i for i, t in enumerate(kept)}
    whole["model"]["vocab"], whole["model"]["merges"] = ids, merges
    for token in whole["added_tokens"]:
        token["id"] = ids[token["content"]]
    return whole


def record_greedy(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    prompts = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
        with torch.no_grad():
            out = model.generate(**ids, max_new_tokens=TOKENS, do_sample=False, return_dict_in_generate=True,
                                 output_logits=True)
        new = out.sequences[0, ids.input_ids.shape[1]:].tolist()
        best = [torch.topk(step[0], 2).values.tolist() for step in out.logits]
        margin = min(first - second for first, second in best)
        assert len(new) == TOKENS, f"{prompt!r} ended early"
        assert margin > LEAST_MARGIN, f"{prompt!r} is a bad choice: two logits differ by {margin}"
        prompts.append({"prompt": prompt, "prompt_ids": ids.input_ids[0].tolist(), "ids": new,
                        "text": tokenizer.decode(new), "least_margin": round(margin, 4)})
        print(f"{prompt!r} -> {prompts[-1]['text']!r} (least margin {margin:.4f})")
    assert prompts[0]["text"].startswith(" Paris."), "the model does not know Paris: the conversion is wrong"
    return {"torch": torch.__version__, "transformers": transformers.__version__, "dtype": "float32",
            "prompts": prompts}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, data = Path(sys.argv[1]), Path(sys.argv[2])
    whole = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    auto = transformers.AutoTokenizer.from_pretrained(folder)
    for text in CASES + PROMPTS + random_texts(300):
        mine, theirs = whole.encode(text, add_special_tokens=False).ids, auto(text, add_special_tokens=False).input_ids
        assert mine == theirs, f"tokenizers and transformers disagree on {text!r}: {mine}, {theirs}"

    small = data / "small" / "tokenizer.json"
    small.parent.mkdir(parents=True, exist_ok=True)
    small.write_text(json.dumps(cut_down(folder / "tokenizer.json"), separators=(",", ":")) + "\n", encoding="ascii")
    write_cases(data / "small" / "cases.json", tokenizers.Tokenizer.from_file(str(small)), 150)
    texts = [text for text in CASES if text and "\0" not in text][::5]  # as arguments of a program
    ids = [{"text": text, "ids": whole.encode(text, add_special_tokens=False).ids} for text in texts]
    write_json(data / "greedy.json", record_greedy(folder) | {"texts": ids})


if __name__ == "__main__":
    main()
