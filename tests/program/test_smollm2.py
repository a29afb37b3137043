"""SmolLM2-135M-Instruct in examples/generate: ids as `transformers` has them in float32, at tp 1 and 3.

The model is where tests/setup.sh converts it: $PENSTOCK_TOOLS/smollm2.
"""

import json
import os
import pathlib

from support import DATA, program
from support.program import ProgramTest, executable

TOOLS = pathlib.Path(os.environ.get("PENSTOCK_TOOLS") or pathlib.Path.home() / ".cache" / "penstock-tools")
MODEL = TOOLS / "smollm2"


class SmolLM2(ProgramTest):
    recorded = json.loads((DATA / "smollm2" / "greedy.json").read_text())

    def ids(self, text, tp, tokens):
        self.assertTrue((MODEL / "config.json").exists(), f"{MODEL} is not there: run tests/setup.sh")
        program_ = executable("PENSTOCK_GENERATE", "generate", "examples/generate", "examples/generate/generate")
        made = self.run_program(program_, MODEL, "--tp", tp, "--prompt=" + text, "--tokens", tokens, "--ids", "--memory-limit", "64MiB",
                                timeout=300)
        self.assertEqual(made.status, 0, made)
        return json.loads(made.out)

    def test_24_greedy_tokens_are_those_of_transformers(self):
        self.assertEqual(len(self.recorded["prompts"]), 3)
        for tp in (1, 3):
            for p in self.recorded["prompts"]:
                with self.subTest(tp=tp, prompt=p["prompt"]):
                    self.assertEqual(len(p["ids"]), 24)
                    self.assertEqual(self.ids(p["prompt"], tp, 24), {"prompt_ids": p["prompt_ids"], "ids": p["ids"]})

    def test_texts_have_the_ids_of_tokenizers(self):
        self.assertGreaterEqual(len(self.recorded["texts"]), 20)
        for t in self.recorded["texts"]:
            with self.subTest(t["text"]):
                self.assertEqual(self.ids(t["text"], 1, 1)["prompt_ids"], t["ids"])


if __name__ == "__main__":
    program.main()
