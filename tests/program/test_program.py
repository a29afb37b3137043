"""The program itself: its help, its options, what it prints and writes."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess

from support import DATA, program
from support.blob_stub import BlobStub
from support.program import ProgramTest

from penstock_reference.architectures import parameters
from penstock_reference.checkpoint import Checkpoint
from penstock_reference.safetensors import read_header, write_file

COMMANDS = ("inspect", "plan", "load", "fetch")
REPORT = [
    "seconds",
    "bytes_needed",
    "bytes_read",
    "bytes_discarded",
    "bytes_exchanged",
    "requests",
    "retries",
    "tensors",
    "parameters",
    "peak_host_bytes",
    "peak_device_staging_bytes",
    "peak_retained_bytes",
    "cpu_seconds",
    "stages",
    "limit",
    "ranks",
]
ANONYMOUS = {"AZURE_STORAGE_ANON": "1", "AZURE_STORAGE_ACCOUNT_NAME": "devaccount"}
MODELS = {"tiny_llama_tied": 3, "tiny_llama_untied": 4, "tiny_llama_bias": 2}


class Program(ProgramTest):
    def test_help(self):
        whole = self.succeeds("--help").out
        for command in COMMANDS:
            self.assertIn(command, whole)
            own = self.succeeds(command, "--help").out
            self.assertIn(f"penstock {command}", own)
            self.assertIn("URI", own)
        for option in (
            "--arch",
            "--quant",
            "--tp",
            "--rank",
            "--device",
            "--ownership",
            "--exchange",
            "--memory-limit",
            "--slot",
            "--json",
        ):
            for command in ("plan", "load"):
                self.assertIn(option, self.succeeds(command, "--help").out)
        self.assertIn("--digest", self.succeeds("load", "--help").out)
        self.assertIn("--reads", self.succeeds("plan", "--help").out)

    def test_usage_errors(self):
        model = DATA / "tiny_llama_tied"
        wrong = [
            (),
            ("nonsense",),
            ("load",),
            ("fetch", model),
            ("load", model, "--nonsense"),
            ("load", model, "--tp"),
            ("load", model, "--tp", "0"),
            ("load", model, "--tp", "-1"),
            ("load", model, "--tp", "two"),
            ("load", model, "--tp", "1x"),
            ("load", model, "--tp", "3", "--rank", "3"),
            ("load", model, "--rank", "first"),
            ("load", model, "--pp", "2", "--stages", "1,x"),
            ("load", model, "--pp", "2", "--stages", "1,1,"),
            ("load", model, "--group", "vision"),
            ("load", model, "--group", "vision=0"),
            ("load", model, "--group", "sight=1"),
            ("load", model, "--ownership", "keep"),
            ("load", model, "--exchange", "telepathy"),
            ("load", model, "--memory-limit", "lots"),
            ("load", model, "another"),
            ("inspect", "az://"),
            ("load", ""),
        ]
        for arguments in wrong:
            with self.subTest(arguments):
                made = self.penstock(*arguments)
                self.assertEqual(made.status, 2, made)
                self.assertIn("penstock: error: usage: ", made.err)

    def test_wrong_tables_of_experts_are_usage_errors(self):
        model, file = DATA / "tiny_qwen3_moe", self.new_path(".json")
        self.fails("not_found", ["--experts", str(file)], "load", model, "--experts", file)
        for text in ("", "[", "[[0]]", '{"all":[0]}', '{"all":[[-1]]}', '{"all":[["0"]]}', '{"all":{}}', '{"1x":[[0]]}', '{"":[[0]]}'):
            with self.subTest(text):
                file.write_text(text)
                self.fails("usage", ["--experts", str(file)], "load", model, "--experts", file)
        file.write_text('{"all":[[0]]}')
        self.fails("plan", ["expert 1 in none"], "load", model, "--experts", file)

    def test_parts_that_are_not_in_this_build_are_usage_errors(self):
        self.fails("usage", ["cluster"], "load", DATA / "tiny_llama_tied", "--device", "cluster")

    def test_inspect(self):
        for name in MODELS:
            with self.subTest(name):
                out = self.succeeds("inspect", DATA / name).out
                tensors = Checkpoint(DATA / name).tensors
                shards = len(list((DATA / name).glob("*.safetensors")))
                self.assertIn("llama", out.lower())
                for number in (len(tensors), shards):
                    self.assertRegex(out, rf"\b{number}\b")
                plain = re.sub(r"(?<=\d),(?=\d{3})", "", out)
                size = sum(t.size for t in tensors.values())
                self.assertTrue(
                    str(size) in plain or f"{size / 1024:.1f} KiB" in plain or f"{size / 1000:.1f} kB" in plain, out
                )
                self.assertIn("none", out.lower())  # its quantisation

    def test_plan(self):
        for name, tp in MODELS.items():
            with self.subTest(name):
                report, reads = self.new_path(".json"), self.new_path(".reads")
                out = self.succeeds("plan", DATA / name, "--tp", str(tp), "--json", report, "--reads", reads).out
                self.assertTrue(out.strip())
                told = json.loads(report.read_text())
                checkpoint = Checkpoint(DATA / name)
                by_rank = [list(parameters(checkpoint, "llama", tp, rank)) for rank in range(tp)]
                for field in (
                    "bytes_needed",
                    "bytes_read",
                    "bytes_discarded",
                    "bytes_exchanged",
                    "requests",
                    "tensors",
                    "parameters",
                    "plan_seconds",
                    "copies",
                    "input_hash",
                    "ranks",
                    "peak_retained_bytes",
                ):
                    self.assertIn(field, told)
                self.assertEqual(told["bytes_needed"], sum(p.from_file for ps in by_rank for p in ps))
                self.assertEqual(told["parameters"], sum(len(ps) for ps in by_rank))
                lines = reads.read_text().splitlines()
                self.assertTrue(lines and all(lines), "one read a line")
                asked = [
                    line for line in lines if json.loads(line)["object"] is not None
                ]  # the rest are zeros: padding
                self.assertEqual(len(asked), told["requests"])

    def test_plan_foresees_what_load_does(self):
        for name, tp in MODELS.items():
            with self.subTest(name):
                file = self.new_path(".json")
                self.succeeds("plan", DATA / name, "--tp", str(tp), "--json", file)
                planned = json.loads(file.read_text())
                _, _, loaded = self.load(DATA / name, "--tp", str(tp))
                for field in (
                    "bytes_needed",
                    "bytes_read",
                    "bytes_discarded",
                    "bytes_exchanged",
                    "tensors",
                    "parameters",
                ):
                    self.assertEqual(planned[field], loaded[field], field)

    def test_plan_is_the_same_every_time(self):
        files = [self.new_path(".json") for _ in range(2)] + [self.new_path(".reads") for _ in range(2)]
        for n in range(2):
            self.succeeds("plan", DATA / "tiny_llama_tied", "--tp", "3", "--json", files[n], "--reads", files[n + 2])
        self.assertEqual(files[2].read_text(), files[3].read_text())
        one, two = (json.loads(f.read_text()) for f in files[:2])
        self.assertEqual(one["input_hash"], two["input_hash"])
        self.succeeds("plan", DATA / "tiny_llama_tied", "--tp", "1", "--json", files[0])
        self.assertNotEqual(json.loads(files[0].read_text())["input_hash"], two["input_hash"])

    def test_plan_reads_no_tensor_bytes(self):
        stub = BlobStub()
        self.addCleanup(stub.stop)
        name = "tiny_llama_untied"
        stub.put_folder("m/", DATA / name)
        self.succeeds("plan", "az://c/m", "--tp", "2", env={"AZURE_STORAGE_ENDPOINT": stub.endpoint, **ANONYMOUS})
        for file in (DATA / name).glob("*.safetensors"):
            starts = min(t.first for t in read_header(file).values())
            asked = [r for r in stub.requests("get", re.escape(file.name))]
            self.assertTrue(asked)
            self.assertFalse([r for r in asked if r.first is None or r.first >= starts], "only headers are read")

    def test_report_has_the_stated_fields(self):
        _, _, report = self.load(DATA / "tiny_llama_untied", "--tp", "4")
        for field in REPORT:
            self.assertIn(field, report)
        self.assertEqual([r["rank"] for r in report["ranks"]], [0, 1, 2, 3])
        for rank in report["ranks"]:
            for field in (
                "bytes_needed",
                "bytes_read",
                "bytes_discarded",
                "bytes_exchanged",
                "requests",
                "retries",
                "tensors",
                "parameters",
            ):
                self.assertIn(field, rank)

    def test_recorded_digests(self):
        for name in MODELS:
            for file in sorted(DATA.glob(f"{name}.tp*.digest")):
                tp = file.suffixes[0].removeprefix(".tp")
                with self.subTest(name, tp=tp):
                    _, digests, _ = self.load(DATA / name, "--tp", tp)
                    self.assertEqual(digests, program.read_digests(file))

    def test_recorded_digests_of_every_architecture(self):
        """tp x ep, the draft model, and what is derived: a hash of all lines of each."""

        def hash_of(path):
            lines = sorted(pathlib.Path(path).read_text().splitlines())
            return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()

        files = sorted(DATA.glob("tiny_*.digests.json"))
        self.assertGreaterEqual(len(files), 14)
        for file in files:
            name = file.name.removesuffix(".digests.json")
            for case in json.loads(file.read_text()):
                by_name = ["--arch", case["arch"]] * ("deepseek" in name)  # else by config.json
                split = [*by_name, "--tp", str(case["tp"]), "--ep", str(case["ep"])]
                with self.subTest(name, split=split):
                    digest, after = self.new_path(".digest"), self.new_path(".after")
                    self.succeeds("load", DATA / name, *split, "--digest", digest, "--digest-after", after)
                    self.assertEqual(hash_of(digest), case["digest"])
                    self.assertEqual(hash_of(after), case.get("digest_after", case["digest"]))

    def test_dumped_parameters_have_the_digests(self):
        folder = self.folder / "dump"
        digests = self.load(DATA / "tiny_deepseek_fp8", "--tp", "2", "--dump", folder)[1]
        self.assertGreater(len(digests), 100)
        for (rank, name), line in digests.items():
            bytes_of = (folder / f"rank{rank}" / name).read_bytes()
            self.assertEqual(hashlib.sha256(bytes_of).hexdigest(), line["sha256"], name)
        self.assertTrue((folder / "rank1" / "model.layers.2.self_attn.w_kc").is_file())
        self.fails("usage", ["empty folder"], "load", DATA / "tiny_deepseek_fp8", "--dump", folder)

    def test_a_checkpoint_that_was_saved_rank_by_rank(self):
        """Each rank takes its own files as they are, and reads no other's."""
        source, folder = self.folder / "dump", self.folder / "by rank"
        folder.mkdir()
        want = self.load(DATA / "tiny_deepseek_fp8", "--tp", "2", "--pp", "2", "--dump", source)[1]
        names = {}
        for rank in range(4):
            mine = [line for (of, _), line in sorted(want.items()) if of == rank]
            for part, lines in enumerate((mine[::2], mine[1::2])):
                file = folder / f"model-rank-{rank}-part-{part}.safetensors"
                tensors = [(d["name"], d["dtype"], d["shape"], (source / f"rank{rank}" / d["name"]).read_bytes()) for d in lines]
                write_file(file, tensors)
                names.setdefault(rank, []).append(file.name)
        options = ["--arch", "as_stored", "--rank-files", "model-rank-{rank}-part-{part}.safetensors"]
        for split in (("--tp", "4"), ("--tp", "2", "--pp", "2")):
            self.assertEqual(self.load(folder, *options, *split)[1], want)
        reads = self.new_path(".reads")
        self.succeeds("plan", folder, *options, "--tp", "4", "--rank", "2", "--reads", reads)
        self.assertEqual({json.loads(line)["object"] for line in reads.read_text().splitlines()}, set(names[2]))
        self.fails("plan", ["expected 4 ranks", "found 2"], "load", folder, *options, "--tp", "2")
        shutil.copy(DATA / "tiny_deepseek_fp8" / "config.json", folder)
        self.fails("plan", ["as_stored"], "load", folder, *options[2:], "--tp", "4")
        self.fails("usage", ["{rank}"], "load", folder, "--rank-files", "model-*.safetensors")
        self.fails("format", ["in one file"], "load", folder, "--arch", "as_stored", "--tp", "4")
        (folder / names[1][0]).unlink()
        (folder / names[1][1]).unlink()
        self.fails("not_found", ["rank 1"], "load", folder, *options, "--tp", "4")

    def test_outputs_go_through_links_and_into_pipes(self):
        file, link, pipe = self.folder / "file", self.folder / "link", self.folder / "pipe"
        file.write_text("old")
        link.symlink_to(file)
        os.mkfifo(pipe)
        self.succeeds("load", DATA / "tiny_llama_tied", "--digest", link)
        self.assertTrue(link.is_symlink())
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            self.succeeds("load", DATA / "tiny_llama_tied", "--digest", pipe)
            told = reader.communicate(timeout=20)[0]
        self.assertEqual(sorted(told.splitlines()), sorted(file.read_bytes().splitlines()))
        self.assertTrue(pipe.is_fifo())

    def test_a_full_device_is_an_io_error_and_stays_a_device(self):
        device = self.folder / "full"
        device.symlink_to("/dev/full")
        self.fails("io", ["write"], "load", DATA / "tiny_llama_tied", "--json", device)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_control_characters_of_a_checkpoint_are_not_printed(self):
        folder = self.folder / "evil"
        folder.mkdir()
        write_file(folder / "model.safetensors", [("evil\n\x1b[31mok", "F32", [1], bytes(4))])
        (folder / "config.json").write_text((DATA / "tiny_llama_tied" / "config.json").read_text())
        made = self.fails("plan", ["evil\\x0a\\x1b[31mok"], "load", folder)
        self.assertNotIn("\x1b", made.err)

    def test_borrow_keeps_nothing_to_derive_from(self):
        after = self.new_path(".after")
        self.fails(
            "usage",
            ["--digest-after", "borrow"],
            "load",
            DATA / "tiny_deepseek",
            "--ownership",
            "borrow",
            "--digest-after",
            after,
        )

    def test_nothing_is_retained(self):
        """Both halves of the fused projection are written at their rows when they come."""
        for name in ("tiny_deepseek", "tiny_deepseek_fp8"):
            report = self.load(DATA / name, "--tp", "2", "--slot", "4KiB")[2]
            self.assertEqual(report["peak_retained_bytes"], 0)

    def test_forms_of_a_local_uri(self):
        name = "tiny_llama_bias"
        link = self.folder / "link"
        link.symlink_to(DATA / name)
        _, want, _ = self.load(DATA / name)
        for uri in (f"{DATA / name}/", f"file://{DATA / name}", link):
            with self.subTest(uri):
                self.assertEqual(self.load(uri)[1], want)
        self.assertEqual(self.load(name, cwd=DATA)[1], want)
        self.assertEqual(self.load("./" + name, cwd=DATA)[1], want)

    def test_files_behind_symbolic_links(self):
        """A cache that is addressed by content: names by the link, bytes by its target."""
        blobs, snapshot = self.folder / "blobs", self.folder / "snapshots" / "r1"
        blobs.mkdir()
        snapshot.mkdir(parents=True)
        for n, file in enumerate(sorted((DATA / "tiny_llama_tied").iterdir())):
            shutil.copy(file, blobs / f"4d7c0a{n}")
            (snapshot / file.name).symlink_to(f"../../blobs/4d7c0a{n}")
        (self.folder / "model").symlink_to("snapshots/r1")
        _, digests, _ = self.load(self.folder / "model", "--tp", "3", cwd="/")
        self.assertEqual(digests, program.read_digests(DATA / "tiny_llama_tied.tp3.digest"))
        (blobs / "4d7c0a0").unlink()  # the config: it comes first by name
        self.fails(["not_found", "config", "io"], [str(self.folder / "model")], "load", self.folder / "model")

    def test_which_files_are_weights_without_an_index(self):
        folder = self.folder / "both"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        write_file(folder / "consolidated.safetensors", [("tok_embeddings.weight", "U8", (2,), b"no")])
        self.assertEqual([n for _, n in self.load(folder, "--arch", "as_stored")[1]], ["tok_embeddings.weight"])
        write_file(folder / "model.safetensors", [("w", "U8", (2,), b"ab")])
        self.assertEqual([n for _, n in self.load(folder, "--arch", "as_stored")[1]], ["w"])

    def test_as_stored_needs_no_config(self):
        folder = self.folder / "bare"
        folder.mkdir()
        write_file(folder / "model.safetensors", [("w", "U8", (2,), b"ab")])
        self.assertEqual([n for _, n in self.load(folder, "--arch", "as_stored")[1]], ["w"])

    def test_ignored_tensors_are_told(self):
        folder = self.folder / "stale"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        write_file(
            folder / "old.safetensors",
            [("l0.norm.weight", "BF16", (2,), b"abcd"), ("l0.q.weight", "F8_E4M3", (4,), b"old!")],
        )
        write_file(folder / "new.safetensors", [("l0.q.weight", "BF16", (4,), b"new new!")])
        for order in (("new", "old"), ("old", "new")):
            index = {"l0.q.weight": "new.safetensors", "l0.norm.weight": "old.safetensors"}
            index = dict(sorted(index.items(), key=lambda item: order.index(item[1].split(".")[0])))
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
            made, digests, _ = self.load(folder, "--arch", "as_stored")
            self.assertEqual(digests[0, "l0.q.weight"]["dtype"], "BF16")
            self.assertIn("1 tensor ignored", made.out + made.err)

    def test_tied_head_is_loaded_once(self):
        _, digests, report = self.load(DATA / "tiny_llama_tied")
        self.assertNotIn((0, "lm_head.weight"), digests)
        self.assertEqual(
            report["bytes_needed"], sum(t.size for t in Checkpoint(DATA / "tiny_llama_tied").tensors.values())
        )

    def test_progress_ends_at_the_total(self):
        """Parts in bytes, one stream for all ranks, a total that never changes."""
        for options in (["--tp", "1"], ["--tp", "3"]):
            with self.subTest(options):
                made, _, _ = self.load(DATA / "tiny_llama_tied", "--progress", *options)
                told = re.findall(
                    r"([\d.,]+)\s*([kKMGT]?i?B)?\s*(?:/|of)\s*([\d.,]+)\s*([kKMGT]?i?B|bytes)", made.out + made.err
                )
                self.assertTrue(told, f"no progress in bytes\n{made}")
                self.assertEqual(len({(total, unit) for _, _, total, unit in told}), 1, f"the total changes\n{made}")
                self.assertEqual(told[-1][0], told[-1][2], f"the last is not the total\n{made}")
                shares = [int(p) for p in re.findall(r"\b(\d{1,3})\s?%", made.out + made.err)]
                self.assertEqual(shares, sorted(shares), f"progress falls\n{made}")
                if shares:
                    self.assertEqual(shares[-1], 100)


class Fetch(ProgramTest):
    FILES = [
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "tokenizer.model",
        "special_tokens_map.json",
        "preprocessor_config.json",
        "modeling_own.py",
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
        "vocab.txt",
        "nested/deeper/processor.json",
        "merges.txt",
    ]
    WEIGHTS = [
        "model-00001-of-00003.safetensors",
        "consolidated.safetensors",
        "nested/model.safetensors",
        "pytorch_model.bin",
        "old.pt",
        "old.pth",
    ]

    def folder_with_everything(self):
        folder = self.folder / "everything"
        for name in self.FILES + self.WEIGHTS:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"this is {name}\n")
        for file in (DATA / "tiny_llama_tied").iterdir():
            shutil.copy(file, folder / file.name)
        return folder

    def check(self, got, folder):
        names = sorted(p.relative_to(got).as_posix() for p in got.rglob("*") if p.is_file())
        for name in self.FILES:
            self.assertIn(name, names)
            self.assertEqual((got / name).read_bytes(), (folder / name).read_bytes())
        self.assertFalse(
            [n for n in names if n.endswith((".safetensors", ".bin", ".pt", ".pth"))], "weights are never fetched"
        )

    def test_fetch_from_a_folder(self):
        folder, got = self.folder_with_everything(), self.folder / "fetched"
        self.succeeds("fetch", folder, got)
        self.check(got, folder)

    def test_fetch_from_a_store_twice(self):
        folder, stub = self.folder_with_everything(), BlobStub()
        self.addCleanup(stub.stop)
        stub.put_folder("m/", folder)
        env = {"AZURE_STORAGE_ENDPOINT": stub.endpoint, **ANONYMOUS}
        for n in range(2):
            got = self.folder / f"fetched{n}"
            self.succeeds("fetch", "az://c/m", got, env=env)
            self.check(got, folder)
        self.assertFalse(
            stub.requests("get", r"(consolidated|nested/model)\.safetensors$|\.(bin|pt|pth)$")
        )  # shards: headers only

    def test_a_changed_object_is_fetched_anew(self):
        folder, stub = self.folder_with_everything(), BlobStub()
        self.addCleanup(stub.stop)
        stub.put_folder("m/", folder)
        env = {"AZURE_STORAGE_ENDPOINT": stub.endpoint, **ANONYMOUS}
        self.succeeds("fetch", "az://c/m", self.folder / "one", env=env)
        stub.put("m/chat_template.jinja", b"another template")
        self.succeeds("fetch", "az://c/m", self.folder / "two", env=env)
        self.assertEqual((self.folder / "two" / "chat_template.jinja").read_bytes(), b"another template")

    def test_keys_that_would_leave_the_folder(self):
        stub = BlobStub()
        self.addCleanup(stub.stop)
        stub.put_folder("m/", DATA / "tiny_llama_tied")
        for key in ("m/../../escaped.json", "m/a/../../../escaped.json", "m//escaped.json", "m/./escaped.json"):
            stub.put(key, b"{}")
        got = self.folder / "deep" / "er" / "fetched"
        made = self.penstock("fetch", "az://c/m", got, env={"AZURE_STORAGE_ENDPOINT": stub.endpoint, **ANONYMOUS})
        self.assertIn(made.status, (0, 10, 11, 13, 18), made)
        self.assertFalse(
            [p for p in self.folder.rglob("escaped.json") if got not in p.parents], "a key wrote outside the folder"
        )


if __name__ == "__main__":
    program.main()
