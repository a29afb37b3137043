"""What `penstock load` loads is, bit for bit, what the reference says: random checkpoints, tp, slots, limits, ownerships."""

import collections
import functools
import json
import os
import random

from support import program
from support.azurite import Azurite
from support.program import SANITIZED, ProgramTest, read_digests

from penstock_reference import families, generators
from penstock_reference.architectures import accepts, has_experts, parameters, text_of
from penstock_reference.checkpoint import Checkpoint
from penstock_reference.rank import Layout

# PENSTOCK_SEED=n runs one other series; PENSTOCK_CASE=n one case of it alone.
SEED = int(os.environ.get("PENSTOCK_SEED", "1"))
ONLY = os.environ.get("PENSTOCK_CASE")
LOCAL, REMOTE, EACH = (40, 8, 2) if SANITIZED else (120, 24, 10)
# A case takes one of these at random.
FAMILIES = [generators.made_llama, generators.made_llama, generators.made_as_stored]
FAMILIES += [generators.random_llama_fp8_block, generators.random_deepseek, generators.random_deepseek]
FAMILIES += [families.random_family] * 2 + [families.random_bert, families.random_qwen_vl]
FAMILIES += [generators.random_llama_packed, generators.random_kimi, generators.random_gpt_oss]
KIB = 1024
SLOTS = [4, 8, 12, 20, 64, 256, 1024]


def cases(count):
    return range(count) if ONLY is None else [int(ONLY)]


class Digests(ProgramTest):
    def choices(self, rng, tp, remote):
        """Options of one load; some loads get none."""
        options = []
        slot = rng.choice([None, *SLOTS])
        if slot:
            options += ["--slot", f"{slot}KiB"]
        # Every rank needs a few slots and, over the network, buffers for its connections.
        least = max(1 if not remote else 16, tp * (slot or 1024) * 8 // KIB + (tp * 4 if remote else 0))
        limit = rng.choice([None, least, 64, 1024])
        if limit:
            options += ["--memory-limit", f"{max(limit, least)}MiB"]
        options += rng.choice([[], *(["--ownership", o] for o in ("borrow", "own", "place"))])
        options += rng.choice([[], [], ["--device", "host"], ["--exchange", "independent"], ["--progress"]])
        return options

    def one(self, case, uri_of, remote, make=None):
        """One checkpoint, loaded in up to three ways, and refused in one."""
        rng = random.Random(f"{SEED} {remote} {case}")
        folder = self.folder / f"m{case}"
        model = (make or rng.choice(FAMILIES))(rng, folder)
        uri, env = uri_of(folder, case)
        checkpoint = Checkpoint(folder)
        for tp, ep in sorted({model.aim, rng.choice(model.valid), rng.choice(model.valid)}):
            pp = self.stages(rng, model.architecture, checkpoint.config)
            choices = self.choices(rng, tp * pp, remote == "az")
            options = [*rng.choice(model.options), *choices, *self.split(rng, tp, ep, pp)]
            one_rank = rng.randrange(tp * pp) if rng.random() < 0.2 else None
            if one_rank is not None:
                options += ["--rank", str(one_rank)]
            elif rng.random() < 0.3:
                options += ["--rank", "all"]
            after, derived = None, "borrow" not in options  # borrowing keeps nothing to derive from
            if model.derives and derived and rng.random() < 0.7:
                after = self.new_path(".after")
                options += ["--digest-after", after]
            ranks = {
                rank: list(parameters(checkpoint, model.architecture, tp, rank, ep, finished=derived, pp=pp))
                for rank in (range(tp * pp) if one_rank is None else [one_rank])
            }
            told = " ".join(map(str, options))
            with self.subTest(seed=SEED, case=case, remote=remote, arch=model.architecture, options=told):
                made, digests, report = self.load(uri, *options, env=env)
                stored = {rank: [p for p in ps if not p.derived] for rank, ps in ranks.items()}
                self.compare(digests, stored, made)
                self.consistent(report, ranks, checkpoint, made)
                if after:
                    self.compare(read_digests(after), ranks, made)
        if model.refused and rng.random() < 0.3:
            split = self.split(rng, *rng.choice(model.refused))
            with self.subTest(seed=SEED, case=case, remote=remote, arch=model.architecture, refused=split):
                self.fails("plan", [], "load", uri, *rng.choice(model.options), *split, env=env)

    def stages(self, rng, architecture, config):
        """How many pipeline stages to ask for: models of numbered layers are divided so, others not."""
        if architecture == "as_stored" or architecture.endswith("_mtp"):
            return 1
        return min(rng.choice([1, 1, 1, 2, 3]), text_of(config)["num_hidden_layers"])

    def split(self, rng, tp, ep, pp=1):
        """The options for it, which may be left out where they say 1."""
        options = []
        for name, number in (("--tp", tp), ("--ep", ep), ("--pp", pp)):
            if number > 1 or rng.random() < 0.5:
                options += [name, str(number)]
        return options

    def compare(self, digests, ranks, made):
        want = {(rank, p.name): p.line(rank) for rank, ps in ranks.items() for p in ps}
        self.assertEqual(sorted(want.keys() - digests.keys()), [], f"not loaded\n{made}")
        self.assertEqual(sorted(digests.keys() - want.keys()), [], f"loaded, but no parameter\n{made}")
        wrong = [f"expected {want[key]}\nfound    {digests[key]}" for key in want if want[key] != digests[key]]
        self.assertEqual(wrong[:5], [], f"{len(wrong)} of {len(want)} differ\n{made}")

    def consistent(self, report, ranks, checkpoint, made):
        """The report agrees with itself and with what was loaded."""
        by_rank = {r["rank"]: r for r in report["ranks"]}
        self.assertEqual(sorted(by_rank), sorted(ranks), made)
        for rank, ps in ranks.items():
            mine = by_rank[rank]
            needed = sum(p.from_file for p in ps)
            self.assertEqual(mine["bytes_needed"], needed, made)
            self.assertEqual(mine["parameters"], len(ps), made)
            self.assertLessEqual(mine["tensors"], len(checkpoint.tensors), made)
            self.assertEqual(
                mine["bytes_read"] - mine["bytes_discarded"], needed, f"each byte is used or discarded\n{made}"
            )
            self.assertEqual(mine["bytes_exchanged"], 0, made)
            if needed:
                self.assertGreater(mine["requests"], 0, made)
        for name in ("bytes_needed", "bytes_read", "bytes_discarded", "requests", "retries", "parameters"):
            self.assertEqual(report[name], sum(r[name] for r in by_rank.values()), f"total of {name}\n{made}")
        self.assertGreaterEqual(report["seconds"], 0)

    def test_random_checkpoints_on_disk(self):
        for case in cases(LOCAL):
            self.one(case, lambda folder, case: (folder, {}), "local")

    def test_every_architecture(self):
        """The same, so many of each that has a random generator of its own."""
        makers = {family.name: functools.partial(families.random_of, family=family) for family in families.FAMILIES}
        makers |= {"bert": families.random_bert, "qwen_vl": families.random_qwen_vl}
        makers |= {"kimi_k25": generators.random_kimi, "gpt_oss": generators.random_gpt_oss}
        makers["packed"] = generators.random_llama_packed
        for name, make in makers.items():
            for case in cases(EACH):
                self.one(f"{name} {case}", lambda folder, case: (folder, {}), name, make)

    def test_random_checkpoints_in_a_blob_store(self):
        azurite = Azurite().start()
        self.addCleanup(azurite.stop)
        azurite.create_container("random")
        env = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}

        def uri_of(folder, case):
            azurite.upload("random", f"models/{case}", folder)
            return f"az://random/models/{case}", env

        for case in cases(REMOTE):
            self.one(case, uri_of, "az")

    def layout(self, rng, config, tp, ep, pp):
        """Groups with sizes of their own, unequal stages, experts in several slots; and the options that say so."""
        layout, options = Layout(), []
        for name in rng.sample(["attention", "dense", "experts", "vocab", "vision"], rng.choice([0, 1, 1, 2])):
            layout.groups[name] = rng.choice([1, 1, 2, 2, 4, tp])
            options += ["--group", f"{name}={layout.groups[name]}"]
        layers, text = text_of(config)["num_hidden_layers"], text_of(config)
        if pp > 1 and rng.random() < 0.7:
            ends = sorted(rng.sample(range(1, layers), pp - 1))
            layout.stages = [end - first for first, end in zip([0, *ends], [*ends, layers])]
            if rng.random() < 0.1:
                layout.stages[-1] += 1
            options += ["--stages", ",".join(map(str, layout.stages))]
        experts = next((text[key] for key in ("num_experts", "num_local_experts", "n_routed_experts") if key in text), 0)
        dense = range(text.get("first_k_dense_replace", 0))
        sparse = [n for n in range(layers) if n not in dense and has_experts(text, n)]
        if experts and sparse and rng.random() < 0.8:
            for key in rng.sample(["all", *map(str, sparse)], rng.choice([1, 1, 2])):
                slots = list(range(experts)) + [rng.randrange(experts) for _ in range(rng.choice([0, 1, 3, 8]))]
                rng.shuffle(slots)
                ends = sorted(rng.sample(range(1, len(slots)), ep - 1)) if ep <= len(slots) else []
                table = [slots[first:end] for first, end in zip([0, *ends], [*ends, len(slots)])]
                if rng.random() < 0.1:
                    table[0][0] = rng.choice([experts, table[-1][-1]])
                layout.experts[key] = table
            if set(map(str, sparse)) <= set(layout.experts):
                layout.experts.pop("all", None)  # it would be for no layer
            file = self.new_path(".json")
            file.write_text(json.dumps(layout.experts))
            options += ["--experts", file]
        return layout, options

    def test_random_layouts(self):
        """Every group with a size of its own, stages of any layers, experts in slots of any block; or a plan error."""
        made = collections.Counter()
        makers = [families.random_family] * 2 + [families.random_bert, families.random_qwen_vl, generators.random_deepseek]
        for case in cases(LOCAL):
            rng = random.Random(f"{SEED} layout {case}")
            folder = self.folder / f"m{case}"
            model = rng.choice(makers)(rng, folder)
            if model.architecture.endswith("_mtp"):
                continue
            checkpoint = Checkpoint(folder)
            tp, ep = rng.choice([model.aim, rng.choice(model.valid)])
            pp = self.stages(rng, model.architecture, checkpoint.config)
            layout, options = self.layout(rng, checkpoint.config, tp, ep, pp)
            options = [*rng.choice(model.options), *options, *self.split(rng, tp, ep, pp), *rng.choice([[], ["--slot", "4KiB"]])]
            with self.subTest(seed=SEED, case=case, arch=model.architecture, options=" ".join(map(str, options)), layout=layout):
                if not accepts(checkpoint, model.architecture, tp, ep, pp, layout):
                    self.fails("plan", [], "load", folder, *options)
                    made["refused"] += 1
                    continue
                ranks = {
                    rank: list(parameters(checkpoint, model.architecture, tp, rank, ep, pp=pp, layout=layout, finished=True))
                    for rank in range(tp * pp)
                }
                run, digests, report = self.load(folder, *options)
                self.compare(digests, {rank: [p for p in ps if not p.derived] for rank, ps in ranks.items()}, run)
                self.consistent(report, ranks, checkpoint, run)
                made["groups"] += bool(layout.groups)
                made["stages"] += bool(layout.stages)
                made["copies"] += any(len(set(block)) < len(block) for table in layout.experts.values() for block in table)
        if ONLY is None and not SANITIZED:
            for what, least in (("refused", 5), ("groups", 10), ("stages", 5), ("copies", 5)):
                self.assertGreaterEqual(made[what], least, made)

    def test_a_model_and_its_draft(self):
        """Planned together: the parameters of both, and nothing is read twice."""
        drafts = 0
        for case in cases(4 * EACH):
            rng = random.Random(f"{SEED} draft {case}")
            folder = self.folder / f"m{case}"
            model = generators.random_deepseek(rng, folder)
            checkpoint = Checkpoint(folder)
            if checkpoint.config.get("num_nextn_predict_layers") != 1:
                continue
            drafts += 1
            tp, ep = model.aim
            pp = self.stages(rng, "deepseek_v3", checkpoint.config)
            options = ["--arch", "deepseek_v3", "--draft", "deepseek_v3_mtp", *self.split(rng, tp, ep, pp)]
            ranks = {
                rank: [
                    *parameters(checkpoint, "deepseek_v3", tp, rank, ep, finished=True, pp=pp),
                    *(parameters(checkpoint, "deepseek_v3_mtp", tp, rank, ep, finished=True) if rank // tp == pp - 1 else ()),
                ]
                for rank in range(tp * pp)
            }
            with self.subTest(seed=SEED, case=case, options=" ".join(options)):
                made, digests, report = self.load(folder, *options)
                self.compare(digests, {rank: [p for p in ps if not p.derived] for rank, ps in ranks.items()}, made)
                self.consistent(report, ranks, checkpoint, made)
        if ONLY is None:
            self.assertGreaterEqual(drafts, 2)

    def test_order_of_shards_and_of_tensors_does_not_matter(self):
        """One model in many layouts: always the same digests."""
        rng = random.Random(SEED)
        config, tp = generators.random_llama_config(random.Random(5))
        tensors = generators.llama_tensors(rng, config)
        first = None
        for case in range(12):
            folder = self.folder / f"layout{case}"
            generators.write_folder(rng, folder, config, tensors, shards=1 + case % 5)
            with self.subTest(case=case):
                _, digests, _ = self.load(folder, "--tp", str(tp), *self.choices(rng, tp, False))
                first = first or digests
                self.assertEqual(digests, first)


if __name__ == "__main__":
    program.main()
