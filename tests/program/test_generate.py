"""The small engine in examples/generate answers as transformers does in float32, at every tp."""

import json

from support import DATA, program
from support.blob_stub import BlobStub
from support.program import ProgramTest, executable

MODELS = ["tiny_llama_tied", "tiny_llama_untied", "tiny_llama_bias"]


class Generate(ProgramTest):
    def generate(self, *arguments, env=(), timeout=120):
        engine = executable("PENSTOCK_GENERATE", "generate", "examples/generate", "examples/generate/generate")
        return self.run_program(engine, *arguments, env=env, timeout=timeout)

    def ids(self, uri, answer, tokens, tp, *more, env=()):
        made = self.generate(uri, "--tp", tp, "--prompt", answer["prompt"], "--tokens", tokens, "--ids", *more, env=env)
        self.assertEqual(made.status, 0, made)
        return json.loads(made.out)

    def recorded(self, name):
        return json.loads((DATA / f"{name}.generate.json").read_text())

    def test_ids_are_those_of_transformers(self):
        for name in MODELS:
            record = self.recorded(name)
            self.assertEqual(len(record["answers"]), 3)
            for tp in record["tp"]:
                for answer in record["answers"]:
                    with self.subTest(name, tp=tp, prompt=answer["prompt"]):
                        self.assertEqual(len(answer["ids"]), 24)
                        got = self.ids(DATA / name, answer, record["tokens"], tp)
                        self.assertEqual(got, {"prompt_ids": answer["prompt_ids"], "ids": answer["ids"]})

    def test_text_follows_the_prompt(self):
        record = self.recorded(MODELS[0])
        for answer in record["answers"]:
            made = self.generate(DATA / MODELS[0], "--prompt", answer["prompt"], "--tokens", record["tokens"])
            self.assertEqual(made.status, 0, made)
            self.assertTrue(made.out.startswith(answer["prompt"]), made)
            ascii_only = [c for c in answer["text"] if c.isascii() and c.isprintable()]
            self.assertEqual(
                [c for c in made.out.removeprefix(answer["prompt"]) if c.isascii() and c.isprintable()], ascii_only
            )

    def test_from_a_store_through_little_memory(self):
        record, stub = self.recorded(MODELS[1]), BlobStub()
        self.addCleanup(stub.stop)
        stub.put_folder("m/", DATA / MODELS[1])
        env = {
            "AZURE_STORAGE_ENDPOINT": stub.endpoint,
            "AZURE_STORAGE_ANON": "1",
            "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
        }
        for tp in (1, 4):
            got = self.ids("az://c/m", record["answers"][0], record["tokens"], tp, "--memory-limit", "64MiB", env=env)
            self.assertEqual(got["ids"], record["answers"][0]["ids"])

    def test_errors_have_the_status_of_their_kind(self):
        model = DATA / MODELS[0]
        for arguments, kind in (
            ((self.folder / "nowhere", "--prompt", "a"), "not_found"),
            ((model, "--tp", "2", "--prompt", "a"), "plan"),
            ((model,), "usage"),
            (("ftp://a/b", "--prompt", "a"), "usage"),
        ):
            with self.subTest(kind):
                made = self.generate(*arguments)
                self.assertEqual(made.status, program.STATUS[kind], made)
                self.assertEqual(made.out, "")


if __name__ == "__main__":
    program.main()
