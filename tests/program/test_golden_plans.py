"""Plans of models of real size, from headers over holes: what each rank needs is what the reference counts."""

import json

from support import program
from support.program import ProgramTest

from penstock_reference.architectures import architecture_of, parameters
from penstock_reference.checkpoint import Checkpoint

# tp, ep, pp, ranks that are looked at, the most that may be read for a byte that is needed (None: nothing is promised).
SPLITS = [
    (8, 1, 1, (0, 7), None),
    (8, 8, 1, (0, 3), 1.02),
    (16, 1, 1, (5,), None),
    (16, 16, 1, (15,), 1.02),
    (8, 8, 2, (1, 14), 1.02),
]
# The same for Kimi-K2.5: fewer ranks, as the reference takes seconds for each. Rows of its shared experts are 4 KiB, of
# which a rank needs an eighth; so near each other they are read whole, 2.1 % of all.
FEWER = [(8, 1, 1, (7,), None), (8, 8, 1, (3,), 1.021), (16, 1, 1, (5,), None), (8, 1, 2, (8,), None)]


class Golden(ProgramTest):
    def plan(self, folder, tp, ep, pp, rank):
        path = self.new_path(".json")
        split = ("--tp", str(tp), "--ep", str(ep), "--pp", str(pp), "--rank", str(rank))
        self.succeeds("plan", folder, *split, "--json", path)
        return json.loads(path.read_text())

    def check(self, preset, tensors, size, splits=tuple(SPLITS)):
        folder = self.folder / preset
        self.succeeds("synth", preset, folder, "--sparse")
        checkpoint = Checkpoint(folder)
        self.assertEqual(len(checkpoint.tensors), tensors)
        self.assertEqual(sum(t.size for t in checkpoint.tensors.values()), size)
        for tp, ep, pp, ranks, surplus in splits:
            hashes = set()
            for rank in ranks:
                with self.subTest(tp=tp, ep=ep, pp=pp, rank=rank):
                    architecture = architecture_of(checkpoint.config)
                    made = list(parameters(checkpoint, architecture, tp, rank, ep, finished=True, pp=pp))
                    plan = self.plan(folder, tp, ep, pp, rank)
                    self.assertEqual(plan["bytes_needed"], sum(p.from_file for p in made))
                    self.assertEqual(plan["bytes_read"] - plan["bytes_discarded"], plan["bytes_needed"])
                    self.assertEqual(plan["parameters"], len(made))
                    if surplus:
                        self.assertLessEqual(plan["bytes_read"], surplus * plan["bytes_needed"])
                    hashes.add(plan["input_hash"])
            self.assertEqual(len(hashes), 1, "ranks of one topology have one hash")

    def test_deepseek_v3(self):
        self.check("deepseek_v3", 91_991, 688_574_839_360)

    def test_kimi_k25(self):
        self.check("kimi_k25", 208_550, 595_148_192_736, FEWER)

    def test_gpt_oss(self):
        for preset, tensors, size in (("gpt_oss_20b", 459, 13_761_264_768), ("gpt_oss_120b", 687, 65_248_815_744)):
            self.check(preset, tensors, size, [(4, 1, 1, (0, 3), None), (8, 1, 1, (7,), None), (8, 8, 1, (3,), 1.02)])


if __name__ == "__main__":
    program.main()
