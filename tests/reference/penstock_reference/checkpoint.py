"""A checkpoint folder: which file owns each tensor, and the config beside them."""

import json
import pathlib

from .safetensors import read_header


class Checkpoint:
    """`config` (a dict) and `tensors` (by name) of a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        config = self.folder / "config.json"
        self.config = json.loads(config.read_text()) if config.exists() else {}
        self.tensors = {}
        index = self.folder / "model.safetensors.index.json"
        if index.exists():
            headers = {}
            for name, file in json.loads(index.read_text())["weight_map"].items():
                if file not in headers:
                    headers[file] = read_header(self.folder / file)
                self.tensors[name] = headers[file][name]
            return
        for file in self.weight_files():
            for name, tensor in read_header(file).items():
                if name in self.tensors:
                    raise ValueError(f"{name} is in two files, and no index says which one owns it")
                self.tensors[name] = tensor

    def weight_files(self):
        """Without an index: `model.safetensors` alone where it exists; else all files."""
        one = self.folder / "model.safetensors"
        return [one] if one.exists() else sorted(self.folder.glob("*.safetensors"))
