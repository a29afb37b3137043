"""Quantisation schemes: which tensors stand for a linear module, and what numbers they mean."""

import math
import struct


def ignores(entry, module):
    """Does this entry of an ignore list mean this module: its name, with or without "model.", or the end of its name?"""
    names = {module, "model." + module, module.removeprefix("model.")}
    return entry in names or module.endswith("." + entry)


class Plain:
    """No scheme: a linear is its weight."""

    def tensors(self, module, out_features, in_features):
        """(suffix, dtype or None for any, shape, block of weight elements that one element stands for) of each."""
        del module
        return [("weight", None, (out_features, in_features), (1, 1))]


class Fp8Block(Plain):
    """Blocks of a weight share a factor, which is stored in `weight_scale_inv`."""

    def __init__(self, block, ignored):
        self.block, self.ignored = tuple(block), tuple(ignored)

    def tensors(self, module, out_features, in_features):
        if any(ignores(entry, module) for entry in self.ignored):
            return super().tensors(module, out_features, in_features)
        scale = -(-out_features // self.block[0]), -(-in_features // self.block[1])
        return [
            ("weight", "F8_E4M3", (out_features, in_features), (1, 1)),
            ("weight_scale_inv", "F32", scale, self.block),
        ]


def scheme_of(config):
    declared = config.get("quantization_config")
    if not declared:
        return Plain()
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
