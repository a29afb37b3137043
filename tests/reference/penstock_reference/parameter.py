"""A parameter of one rank, and the cuts that make one. Bytes are read only when they are asked for."""

import hashlib
import math
from dataclasses import dataclass
from typing import Callable

from .safetensors import BITS, size_in_bytes


@dataclass
class Parameter:
    name: str
    dtype: str
    shape: tuple
    read: Callable
    from_file: int  # how many of the bytes come from the checkpoint; the rest is padding
    derived: bool = False  # is it made of another parameter?

    @property
    def data(self):
        data = self.read()
        if len(data) != size_in_bytes(self.dtype, self.shape):
            raise ValueError(f"{self.name}: {len(data)} bytes for {self.dtype} {self.shape}")
        return data

    def line(self, rank):
        return {
            "rank": rank,
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "sha256": hashlib.sha256(self.data).hexdigest(),
        }


@dataclass
class Part:
    """Some rows or columns of a tensor."""

    dtype: str
    shape: tuple
    read: Callable
    padding: int = 0  # how many of the bytes are zeros that no file has


def whole(name, tensor):
    return Parameter(name, tensor.dtype, tensor.shape, tensor.read, size_in_bytes(tensor.dtype, tensor.shape))


def matrix(tensor, n):
    """Matrix n of [matrices, rows, columns]."""
    shape = tensor.shape[1:]
    size = size_in_bytes(tensor.dtype, shape)
    return Part(tensor.dtype, shape, lambda: tensor.read()[n * size : (n + 1) * size])


def rows(tensor, first, count):
    """Rows [first, first + count) of the first axis."""
    if first < 0 or first + count > tensor.shape[0]:
        raise ValueError(f"rows {first} to {first + count} of {tensor.shape}")
    pitch = size_in_bytes(tensor.dtype, tensor.shape[1:])
    return Part(
        tensor.dtype,
        (count, *tensor.shape[1:]),
        lambda: tensor.read()[first * pitch : (first + count) * pitch],
    )


def columns(tensor, first, count):
    """Columns [first, first + count) of a matrix."""
    height, width = tensor.shape
    if first < 0 or first + count > width or BITS[tensor.dtype] % 8:
        raise ValueError(f"columns {first} to {first + count} of {tensor.shape}")
    element = BITS[tensor.dtype] // 8

    def read():
        data = tensor.read()
        starts = (row * width + first for row in range(height))
        return b"".join(data[start * element : (start + count) * element] for start in starts)

    return Part(tensor.dtype, (height, count), read)


def reshaped(part, *shape):
    return Part(part.dtype, shape, part.read)


def padded(part, *shape):
    """Zeros below and to the right of a vector or a matrix."""
    element = BITS[part.dtype] // 8
    size = math.prod(shape) * element

    def read():
        data = part.read()
        if len(shape) == 1:
            return data.ljust(size, b"\0")
        width, wider = part.shape[1] * element, shape[1] * element
        lines = (data[row * width : (row + 1) * width].ljust(wider, b"\0") for row in range(part.shape[0]))
        return b"".join(lines).ljust(size, b"\0")

    return Part(part.dtype, shape, read, size - math.prod(part.shape) * element)


def stacked(name, parts, matrices=None):
    """A parameter whose rows are those of `parts`; with `matrices`, so many matrices of equal height."""
    dtypes, widths = {part.dtype for part in parts}, {part.shape[1:] for part in parts}
    if len(dtypes) != 1 or len(widths) != 1:
        raise ValueError(f"{name}: its pieces are {dtypes} and {widths}")
    (dtype,), (width,), height = dtypes, widths, sum(part.shape[0] for part in parts)
    shape = (height, *width) if matrices is None else (matrices, height // matrices, *width)
    from_file = size_in_bytes(dtype, shape) - sum(part.padding for part in parts)
    return Parameter(name, dtype, shape, lambda: b"".join(part.read() for part in parts), from_file)
