"""The safetensors file format: reading one file, writing one file."""

import json
import struct

# Bits of one element, for each dtype of safetensors 0.8.
BITS = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}


def size_in_bytes(dtype, shape):
    bits = BITS[dtype]
    for extent in shape:
        bits *= extent
    if bits % 8:
        raise ValueError(f"{dtype} {shape} is {bits} bits, which is no whole number of bytes")
    return bits // 8


class Tensor:
    """A tensor of a file. `read()` gives its bytes."""

    def __init__(self, path, dtype, shape, first, size):
        self.path, self.dtype, self.shape, self.first, self.size = path, dtype, tuple(shape), first, size

    def read(self):
        with open(self.path, "rb") as file:
            file.seek(self.first)
            data = file.read(self.size)
        if len(data) != self.size:
            raise ValueError(f"{self.path}: {len(data)} bytes where {self.size} should be")
        return data


def read_header(path):
    """All tensors of one file, by name."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if end - begin != size_in_bytes(entry["dtype"], entry["shape"]):
            raise ValueError(f"{path}: {name}: offsets and shape disagree")
        tensors[name] = Tensor(path, entry["dtype"], entry["shape"], 8 + length + begin, end - begin)
    return tensors


def file_bytes(header_text, data, length=None):
    """A file made of a header as given, which may lie."""
    header = header_text.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def write_file(path, tensors, *, header_order=None, metadata=(), pad_to=1):
    """Writes `tensors`, a list of (name, dtype, shape, bytes), whose data lie in the file in this order.

    `header_order` is the order of names in the header. `metadata` is written as `__metadata__`, unless it is ().
    The header is padded with spaces to a multiple of `pad_to`; at 1 the data may start anywhere.
    """
    entries, offset = {}, 0
    for name, dtype, shape, data in tensors:
        if len(data) != size_in_bytes(dtype, shape):
            raise ValueError(f"{name}: {len(data)} bytes for {dtype} {list(shape)}")
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    header = {} if metadata == () else {"__metadata__": metadata}
    for name in header_order or [t[0] for t in tensors]:
        header[name] = entries[name]
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    text += " " * (-len(text.encode()) % pad_to)
    with open(path, "wb") as file:
        file.write(file_bytes(text, b""))
        for _, _, _, data in tensors:
            file.write(data)
