"""Quantisation schemes: which tensors stand for a linear module, and what numbers they mean."""

import math
import re
import struct


def ignores(entry, module):
    """Does this entry of an ignore list mean this module: its name, with or without "model.", or the end of its name, or
    an expression that matches from its beginning?"""
    if entry.startswith("re:"):
        return re.match(entry[3:], module) is not None
    names = {module, "model." + module, module.removeprefix("model.")}
    return entry in names or module.endswith("." + entry)


class Plain:
    """No scheme: a linear is its weight."""

    def tensors(self, module, out_features, in_features, prefix=None):
        """(suffix, dtype or None for any, shape, block of weight elements that one element stands for) of each. A block
        of None is never cut along that axis; None in its place: no parameter. `prefix`: of the model inside of a model."""
        del module, prefix
        return [("weight", None, (out_features, in_features), (1, 1))]


def ignored(entries, module, prefix):
    """A list that stands inside of the model's own config (`prefix` is a tuple) may name modules as that does."""
    if isinstance(prefix, tuple):
        return any(ignores(entry, module) or ignores(entry, prefix[0] + module) for entry in entries)
    return any(ignores(entry, (prefix or "") + module) for entry in entries)


class Fp8Block(Plain):
    """Blocks of a weight share a factor, which is stored in `weight_scale_inv`."""

    def __init__(self, block, ignored):
        self.block, self.ignored = tuple(block), tuple(ignored)

    def tensors(self, module, out_features, in_features, prefix=None):
        if ignored(self.ignored, module, prefix):
            return super().tensors(module, out_features, in_features)
        scale = -(-out_features // self.block[0]), -(-in_features // self.block[1])
        return [
            ("weight", "F8_E4M3", (out_features, in_features), (1, 1)),
            ("weight_scale_inv", "F32", scale, self.block),
        ]


class Packed(Plain):
    """Small integers in words of 32 bits; a group of columns, or (None) a row, shares a factor."""

    def __init__(self, bits, group, names):
        self.per_word, self.group, self.ignored = 32 // bits, group, tuple(names)

    def tensors(self, module, out_features, in_features, prefix=None):
        if ignored(self.ignored, module, prefix):
            return super().tensors(module, out_features, in_features)
        if self.group and in_features % self.group:
            raise ValueError(f"{module}: {in_features} columns cut a group of {self.group}")
        scales = in_features // self.group if self.group else 1
        return [
            ("weight_packed", "I32", (out_features, -(-in_features // self.per_word)), (1, self.per_word)),
            ("weight_scale", None, (out_features, scales), (1, self.group)),
            ("weight_shape", ("I32", "I64"), (2,), None),
        ]


def scheme_of(config):
    declared = config.get("quantization_config")
    if not declared or declared.get("quant_method") == "mxfp4":  # that is for experts alone: see gpt_oss
        return Plain()
    if declared.get("format") == "pack-quantized":
        (group,) = declared["config_groups"].values()
        weights = group["weights"]
        size = weights.get("group_size")
        return Packed(weights["num_bits"], size if size and size > 0 else None, declared.get("ignore") or ())
    if declared.get("quant_method") != "fp8" or not declared.get("weight_block_size"):
        raise ValueError(f"a quantisation that is not known here: {declared}")
    ignored = [*(declared.get("modules_to_not_convert") or ()), *(declared.get("ignored_layers") or ())]
    return Fp8Block(declared["weight_block_size"], ignored)


def e4m3(byte):
    """The number that a byte of F8_E4M3 stands for."""
    sign, exponent, mantissa = -1.0 if byte & 0x80 else 1.0, byte >> 3 & 15, byte & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    return sign * (mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10))


def float32_bits(number):
    """The bits of the nearest float32; ties go to even. The product of an e4m3 and a float32 is exact before this."""
    return struct.unpack("<I", struct.pack("<f", number))[0]


def bfloat16_bits(bits):
    """The bits of the bfloat16 that is nearest to the float32 with these bits; ties go to even."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40  # not a number
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def dequantised(weight, scale, shape, block):
    """BF16 bits, row by row, of an F8_E4M3 matrix of this shape whose blocks have these F32 scales."""
    height, width = shape
    across = -(-width // block[1])
    scales = struct.unpack(f"<{len(scale) // 4}f", scale)
    if len(scales) != -(-height // block[0]) * across:
        raise ValueError(f"{len(scales)} scales for {shape} in blocks of {block}")
    numbers = [e4m3(byte) for byte in range(256)]
    return [
        bfloat16_bits(
            float32_bits(numbers[weight[row * width + column]] * scales[row // block[0] * across + column // block[1]])
        )
        for row in range(height)
        for column in range(width)
    ]
