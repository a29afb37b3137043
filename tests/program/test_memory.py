"""Peak resident memory stays below parameters + limit + 32 MiB, also for a tensor that is larger than the limit.

This process stays small: the peak that the kernel keeps for a child begins with that of the process that started it.
"""

import collections
import json
import subprocess
import sys

from support import TESTS, program
from support.azurite import Azurite
from support.program import MIB, PROGRAM, ProgramTest, executable, read_digests

LIMIT, ALLOWANCE = 64 * MIB, 32 * MIB
HIDDEN = 1024


def write_sparse(path, tensors):
    """A file whose data are holes, but for eight bytes in each 64 KiB, all different. tensors: (name, shape), BF16."""
    header, offset = {}, 0
    for name, shape in tensors:
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for at in range(0, offset - 8, 65536):
            file.seek(8 + len(text) + at)
            file.write((at * 2654435761 % (1 << 64)).to_bytes(8, "little"))
        file.truncate(8 + len(text) + offset)


def write_llama(folder, vocabulary):
    """A Llama of one layer whose embedding and head are large."""
    folder.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "num_hidden_layers": 1,
        "intermediate_size": 2048,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "vocab_size": vocabulary,
        "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(config))
    layer = "model.layers.0."
    write_sparse(
        folder / "model.safetensors",
        [
            ("model.embed_tokens.weight", [vocabulary, HIDDEN]),
            (layer + "input_layernorm.weight", [HIDDEN]),
            (layer + "post_attention_layernorm.weight", [HIDDEN]),
            (layer + "self_attn.q_proj.weight", [HIDDEN, HIDDEN]),
            (layer + "self_attn.k_proj.weight", [HIDDEN // 2, HIDDEN]),
            (layer + "self_attn.v_proj.weight", [HIDDEN // 2, HIDDEN]),
            (layer + "self_attn.o_proj.weight", [HIDDEN, HIDDEN]),
            (layer + "mlp.gate_proj.weight", [2048, HIDDEN]),
            (layer + "mlp.up_proj.weight", [2048, HIDDEN]),
            (layer + "mlp.down_proj.weight", [HIDDEN, 2048]),
            ("model.norm.weight", [HIDDEN]),
        ],
    )
    return folder


def carries_a_sanitizer():
    """A sanitizer's own memory is no matter of this test: under one, loads are compared but not measured."""
    return (
        subprocess.run(
            ["grep", "-q", "-e", "__asan_init", "-e", "__tsan_init", executable("PENSTOCK_PROGRAM", *PROGRAM)]
        ).returncode
        == 0
    )


class Memory(ProgramTest):
    def bounded(self, made, parameters):
        allowed = parameters + LIMIT + ALLOWANCE
        if not carries_a_sanitizer():
            self.assertLess(
                made.peak_bytes, allowed, f"{made.peak_bytes / MIB:.1f} MiB, {allowed / MIB:.1f} allowed\n{made}"
            )
        print(
            f"{' '.join(map(str, made.command[3:]))}: peak {made.peak_bytes / MIB:.1f} MiB of {allowed / MIB:.1f}",
            file=sys.stderr,
        )

    def expected(self, folder, tp, arch="llama"):
        """The reference runs in a process of its own."""
        file = self.new_path(".expected")
        subprocess.run(
            [sys.executable, "-m", "penstock_reference", folder, "--tp", str(tp), "--arch", arch, "--digest", file],
            cwd=TESTS / "reference",
            check=True,
            timeout=300,
        )
        return read_digests(file)

    def parameter_bytes(self, digests):
        total = 0
        for line in digests.values():
            size = 2
            for extent in line["shape"]:
                size *= extent
            total += size
        return total

    def check(self, uri, folder, tps, ownerships=("place", "own", "borrow"), env=()):
        for tp in tps:
            want = self.expected(folder, tp)
            for ownership in ownerships:
                with self.subTest(tp=tp, ownership=ownership):
                    options = ["--tp", str(tp), "--ownership", ownership, "--memory-limit", "64MiB"]
                    if ownership != "borrow":
                        made, digests, report = self.load(uri, *options, env=env, timeout=300)
                        self.assertEqual(digests, want, made)
                        self.bounded(made, self.parameter_bytes(want))
                    else:  # without digests nothing is kept
                        file = self.new_path(".json")
                        made = self.succeeds("load", uri, *options, "--json", file, env=env, timeout=300)
                        report = json.loads(file.read_text())
                        self.bounded(made, 0)
                        self.assertGreater(report["peak_host_bytes"], 0)
                    self.assertLessEqual(report["peak_host_bytes"], LIMIT)

    def test_a_tensor_larger_than_the_limit(self):
        folder = write_llama(self.folder / "large", 100_000)  # 204.8 MB in one tensor
        self.check(folder, folder, (1, 4))

    def test_a_tensor_of_a_gibibyte_in_a_model_of_four(self):
        """Real sizes over holes. What the engine keeps: all of it, what it is about to be handed, nothing."""
        if carries_a_sanitizer():
            self.skipTest("a sanitizer keeps more than the model")
        folder = self.folder / "model"
        self.succeeds("synth", "llama3_70b", folder, "--scale", "0.72", "--layers", "2", "--sparse")
        reads = self.new_path(".reads")
        self.succeeds("plan", folder, "--reads", reads)
        sizes = collections.Counter()
        with open(reads) as lines:
            for copy in (copy for line in lines for copy in json.loads(line)["copies"]):
                sizes[copy["parameter"]] += copy["width"] * copy["rows"]
        whole, *rest = sorted(sizes.values(), reverse=True)
        total = sum(sizes.values())
        self.assertGreater(whole, 1 << 30)
        self.assertGreater(total, 3_800_000_000)
        for ownership, tp, kept in (
            ("place", 1, total),
            ("own", 1, whole + rest[0]),  # one of them may be waiting for its last piece
            ("borrow", 1, 0),
            ("borrow", 4, 0),
        ):
            with self.subTest(ownership=ownership, tp=tp):
                file = self.new_path(".json")
                options = ["--tp", str(tp), "--ownership", ownership, "--memory-limit", "64MiB", "--json", file]
                made = self.succeeds("load", folder, *options, timeout=300)
                report = json.loads(file.read_text())
                self.bounded(made, kept)
                self.assertEqual(report["bytes_read"] - report["bytes_discarded"], report["bytes_needed"])
                self.assertGreaterEqual(report["bytes_needed"], total)
                self.assertLessEqual(report["peak_host_bytes"], LIMIT)

    def test_a_tensor_larger_than_the_limit_from_a_blob_store(self):
        folder = write_llama(self.folder / "large", 40_000)  # 81.9 MB
        azurite = Azurite().start()
        self.addCleanup(azurite.stop)
        azurite.create_container("large")
        # In a process of its own, as it reads the file whole.
        upload = (
            "import sys; sys.path.insert(0, sys.argv[1]); from support.azurite import Azurite; "
            "a = Azurite(); a.port = int(sys.argv[2]); "
            "a.upload('large', 'm', sys.argv[3])"
        )
        subprocess.run(
            [sys.executable, "-c", upload, TESTS / "program", str(azurite.port), folder], check=True, timeout=300
        )
        self.check("az://large/m", folder, (1, 2), env={"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string})

    def test_many_tensors(self):
        """20,000 small tensors: their names cost memory too, but little."""
        folder = self.folder / "many"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        write_sparse(folder / "model.safetensors", [(f"model.layers.{n}.weight", [16, 8]) for n in range(20_000)])
        want = self.expected(folder, 1, "as_stored")
        made, digests, _ = self.load(folder, "--arch", "as_stored", "--ownership", "place", "--memory-limit", "64MiB")
        self.assertEqual(digests, want)
        self.bounded(made, self.parameter_bytes(want))


if __name__ == "__main__":
    program.main()
