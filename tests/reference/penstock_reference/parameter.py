"""A parameter of one rank, and the cuts that make one."""

import hashlib
from dataclasses import dataclass

from .safetensors import BITS, size_in_bytes


@dataclass
class Parameter:
    name: str
    dtype: str
    shape: tuple
    data: bytes
    from_file: int  # how many of the bytes come from the checkpoint; the rest is padding

    def line(self, rank):
        return {
            "rank": rank,
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "sha256": hashlib.sha256(self.data).hexdigest(),
        }


def whole(name, tensor):
    data = tensor.read()
    return Parameter(name, tensor.dtype, tensor.shape, data, len(data))


def row_bytes(tensor):
    return size_in_bytes(tensor.dtype, tensor.shape[1:])


def rows(tensor, first, count):
    """Rows [first, first + count) of the first axis: their bytes."""
    if first < 0 or first + count > tensor.shape[0]:
        raise ValueError(f"rows {first} to {first + count} of {tensor.shape}")
    pitch = row_bytes(tensor)
    return tensor.read()[first * pitch : (first + count) * pitch]


def columns(tensor, first, count):
    """Columns [first, first + count) of a matrix: their bytes, row after row."""
    height, width = tensor.shape
    if first < 0 or first + count > width or BITS[tensor.dtype] % 8:
        raise ValueError(f"columns {first} to {first + count} of {tensor.shape}")
    element, data = BITS[tensor.dtype] // 8, tensor.read()
    return b"".join(data[(r * width + first) * element : (r * width + first + count) * element] for r in range(height))


def stacked(name, pieces):
    """A parameter whose rows are those of `pieces`, a list of (tensor, first row, number of rows)."""
    dtypes, widths = {t.dtype for t, _, _ in pieces}, {t.shape[1:] for t, _, _ in pieces}
    if len(dtypes) != 1 or len(widths) != 1:
        raise ValueError(f"{name}: its pieces are {dtypes} and {widths}")
    data = b"".join(rows(*piece) for piece in pieces)
    height = sum(count for _, _, count in pieces)
    return Parameter(name, dtypes.pop(), (height, *widths.pop()), data, len(data))
