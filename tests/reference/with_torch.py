"""What make_tiny_deepseek.py, make_tiny_families.py and test_logits_with_torch.py share: blocks of FP8, and what transformers answers."""

import json
import pathlib
import tempfile

import torch
import transformers
from safetensors.torch import save_file

LARGEST = 448.0  # number of F8_E4M3


def over_blocks(scale, weight, block):
    """The scale of each element of the weight."""
    for axis, size in enumerate(block):
        scale = scale.repeat_interleave(size, axis)
    return scale[: weight.shape[0], : weight.shape[1]]


def to_blocks(weight, block):
    """(F8_E4M3 weight, its scales): the largest number of each block becomes the largest of the format."""
    height, width = (-(-extent // size) for extent, size in zip(weight.shape, block))
    padded = torch.zeros(height * block[0], width * block[1])
    padded[: weight.shape[0], : weight.shape[1]] = weight
    largest = padded.reshape(height, block[0], width, block[1]).abs().amax((1, 3))
    scale = largest / LARGEST
    return (weight.float() / over_blocks(scale, weight, block)).to(torch.float8_e4m3fn), scale


def from_blocks(weight, scale, block):
    return weight.float() * over_blocks(scale, weight, block)


E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])


def to_mxfp4(weight):
    """(blocks, scales) of a weight [..., columns], as gpt-oss stores it: nearest numbers, the largest one kept in range."""
    blocks = weight.float().unflatten(-1, (-1, 32))
    power = torch.floor(torch.log2(blocks.abs().amax(-1).clamp(min=1e-20))) - 2
    codes = (blocks / 2.0 ** power[..., None]).unsqueeze(-1).sub(E2M1).abs().argmin(-1).to(torch.uint8)
    return codes[..., 0::2] | codes[..., 1::2] << 4, (power + 127).to(torch.uint8)


def from_mxfp4(blocks, scales):
    codes = torch.stack([blocks & 15, blocks >> 4], -1).flatten(-2).long()
    return (E2M1[codes] * 2.0 ** (scales.float() - 127)[..., None]).flatten(-2)


def answers(folder, ids, count):
    """The first `count` logits of the last position for each list of ids, from transformers in float32; of an encoder,
    the first numbers of its last hidden state."""
    encoder = json.loads((pathlib.Path(folder) / "config.json").read_text())["model_type"] == "bert"
    kind = transformers.AutoModel if encoder else transformers.AutoModelForCausalLM
    model, loaded = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    wrong = {key: names for key, names in loaded.items() if names}
    if wrong:
        raise ValueError(f"{folder}: transformers says {wrong}")
    with torch.no_grad():
        made = [model.eval()(torch.tensor([line])) for line in ids]
        return [(one.last_hidden_state if encoder else one.logits)[0, -1, :count].tolist() for one in made]


def logits(config, tensors, ids, count):
    """The same for tensors with public names which are plain numbers."""
    with tempfile.TemporaryDirectory() as folder:
        plain = {key: value for key, value in config.items() if key != "quantization_config"}
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(plain))
        numbers = {name: tensor.float() for name, tensor in tensors.items()}
        save_file(numbers, f"{folder}/model.safetensors", {"format": "pt"})
        return answers(folder, ids, count)
