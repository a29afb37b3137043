"""An engine that fuses two tensors of DeepSeek's attention itself gets the bytes that the library's own map gets.

examples/mla_cache keeps the first of the two until the other one comes. They lie in different shards, and are read through a
ring of two small slots, so that the first one's slot is refilled many times before.
"""

import json
import re

from support import program
from support.azurite import Azurite
from support.program import ProgramTest, executable

from penstock_reference.safetensors import read_header

FUSED = "fused_qkv_a_proj_with_mqa"
PARTS = ("q_a_proj", "kv_a_proj_with_mqa")
LAYERS = 4


class MlaCache(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        small = ("--layers", LAYERS, "--experts", 2, "--scale", 0.1)
        self.succeeds("synth", "deepseek_v3", self.model, *small, "--shards", 5, "--shuffle")

    def engine(self, uri, *slot, env=()):
        """The engine's fused parameters, {name: digest}, and how many bytes waited at most."""
        made = self.run_program(executable("PENSTOCK_MLA_CACHE", "mla_cache"), uri, *slot, env=env)
        self.assertEqual((made.status, made.err), (0, ""), made)
        *lines, numbers = made.out.splitlines()
        slots, size, waited = map(int, re.fullmatch(r"(\d+) slots of (\d+) bytes, at most (\d+) bytes waited", numbers).groups())
        self.assertEqual([slots, *slot], [2, size][: 1 + len(slot)], made)
        digests = dict(reversed(line.split("  ")) for line in lines)
        self.assertEqual(len(digests), len(lines), made)
        return digests, waited

    def library(self):
        """The same of the library's own map, which keeps nothing to get there."""
        _, digests, report = self.load(self.model, "--tp", 1)
        self.assertEqual(report["peak_retained_bytes"], 0)
        self.assertEqual([rank["peak_retained_bytes"] for rank in report["ranks"]], [0])
        return {name: line["sha256"] for (_, name), line in digests.items() if FUSED in name}

    def tensors(self):
        """{name: (shard, shape)} of what is fused in each layer."""
        shards = json.loads((self.model / "model.safetensors.index.json").read_text())["weight_map"]
        names = [f"model.layers.{layer}.self_attn.{part}.weight" for layer in range(LAYERS) for part in PARTS]
        return {name: (shards[name], read_header(self.model / shards[name])[name].shape) for name in names}

    def test_far_apart_through_two_small_slots(self):
        want, tensors = self.library(), self.tensors()
        self.assertEqual(len(want), 2 * LAYERS)  # weights and scales
        self.assertEqual(len(set(want.values())), 2 * LAYERS)
        shards = [[tensors[f"model.layers.{layer}.self_attn.{part}.weight"][0] for part in PARTS] for layer in range(LAYERS)]
        self.assertTrue(all(q_a != kv_a for q_a, kv_a in shards), shards)
        self.assertEqual({q_a < kv_a for q_a, kv_a in shards}, {True, False}, "either comes first in some layer")
        rows, columns = zip(*(shape for _, shape in tensors.values()))
        self.assertGreater(min(columns), 512)  # through the smallest slot come parts of a row
        for slot in (512, 3000, 16384, 1 << 20):
            with self.subTest(slot=slot):
                got, waited = self.engine(self.model, slot)
                self.assertEqual(got, want)
                self.assertGreaterEqual(waited, min(rows) * min(columns))
                if slot <= 16384:
                    self.assertGreater(waited, 2 * slot)  # more than all slots hold

    def test_from_a_store(self):
        azurite = Azurite().start()
        self.addCleanup(azurite.stop)
        azurite.create_container("models")
        azurite.upload("models", "deepseek", self.model)
        env = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}
        want = self.library()
        for slot in (65536, 1 << 20):
            with self.subTest(slot=slot):
                self.assertEqual(self.engine("az://models/deepseek", slot, env=env)[0], want)

    def test_an_error_is_told(self):
        made = self.run_program(executable("PENSTOCK_MLA_CACHE", "mla_cache"), self.folder / "nothing")
        self.assertEqual(made.status, 1, made)
        self.assertTrue(made.err.startswith("not_found: "), made)


if __name__ == "__main__":
    program.main()
