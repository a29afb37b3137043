"""`load --trace`: a file that trace viewers open, with every read, and nothing in it that does not belong there."""

import collections
import json
import shutil

from support import DATA, program
from support.blob_stub import Fault, status
from support.http_case import MODEL, SHARD, HttpTest

WITHIN = {"copy": {"land"}, "callback": {"land", "drain"}}
ACTIVITIES = {"admit", "wait: io", "land", "copy", "callback", "drain", "wait: event", "wait: news"}
STATES = ["filling", "full", "draining"]


class Trace(HttpTest):
    def traced(self, uri, *options, **more):
        """A load, its trace, and the reads that its plan foresees: (rank, file, first, bytes)."""
        file, reads = self.new_path(".trace"), self.new_path(".reads")
        _, _, report = self.load(uri, *options, "--trace", file, **more)
        self.succeeds("plan", uri, *options, "--reads", reads, **more)
        planned = [json.loads(line) for line in reads.read_text().splitlines()]
        return json.loads(file.read_text())["traceEvents"], planned, report

    def check(self, events):
        """What holds of every trace: the format's fields, names of rows, slices nested. Returns {(pid, tid): name}."""
        for e in events:
            self.assertTrue({"name", "ph", "pid", "tid"} <= e.keys(), e)
            self.assertIn(e["ph"], "XiCM")
            self.assertIsInstance(e["pid"], int)
            self.assertIsInstance(e["tid"], int)
            if e["ph"] != "M":
                self.assertGreaterEqual(e["ts"], 0)
            if e["ph"] == "X":
                self.assertGreaterEqual(e["dur"], 0)
            if e["ph"] == "i":
                self.assertIn(e["s"], ("g", "p", "t"))
        rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        slices = collections.defaultdict(list)
        for e in events:
            self.assertIn(e["pid"], processes)
            if e["ph"] == "X":
                slices[e["pid"], e["tid"]].append(e)
        self.assertLessEqual(slices.keys(), rows.keys(), "every row with slices has a name")
        self.assertEqual(len(set(rows)), len([e for e in events if e["name"] == "thread_name"]))
        for row, inside in slices.items():
            kinds = {"open", "plan", "load"} if row == (0, 0) else set(STATES) if "slot" in rows[row] else ACTIVITIES
            self.assertLessEqual({e["name"] for e in inside}, kinds, rows[row])
            open_slices = []
            for e in sorted(inside, key=lambda e: (e["ts"], -e["dur"])):
                begin, end = round(1000 * e["ts"]), round(1000 * (e["ts"] + e["dur"]))
                while open_slices and open_slices[-1][0] <= begin:
                    open_slices.pop()
                if open_slices:
                    self.assertLessEqual(end, open_slices[-1][0], f"{e} ends after what it is in")
                    self.assertIn(open_slices[-1][1], WITHIN.get(e["name"], set()), rows[row])
                elif e["name"] in WITHIN:
                    self.fail(f"{e} is in nothing")
                open_slices.append((end, e["name"]))
        return rows

    def requests(self, events):
        return [e for e in events if e["ph"] == "X" and e["name"] == "filling"]

    def check_reads(self, events, planned, ranks):
        asked = sorted((e["pid"] - 1, e["args"]["file"], e["args"]["first"], e["args"]["bytes"]) for e in self.requests(events) if e["args"]["file"] != "zeros")
        want = sorted((r["rank"], r["object"], r["first"], r["bytes"]) for r in planned if r.get("object"))
        self.assertEqual(asked, want, "every read of the plan once, and no other")
        self.assertEqual({rank for rank, *_ in asked}, set(range(ranks)))
        for state in STATES:
            count = collections.Counter((e["pid"], e["args"]["read"]) for e in events if e["ph"] == "X" and e["name"] == state)
            self.assertEqual(set(count.values()), {1}, state)
            self.assertEqual(len(count), len(self.requests(events)))

    def test_every_read_is_there_once(self):
        for name, tp in (("tiny_llama_untied", 4), ("tiny_llama_tied", 3), ("tiny_deepseek_fp8", 2)):
            for ownership in ("place", "borrow", "own"):
                with self.subTest(name, ownership=ownership):
                    events, planned, report = self.traced(DATA / name, "--tp", str(tp), "--ownership", ownership, "--slot", "8KiB")
                    rows = self.check(events)
                    self.check_reads(events, planned, tp)
                    lanes = [n for n in rows.values() if n.startswith("lane ") and "slot" not in n]
                    self.assertEqual(len(lanes), report["lanes"])
                    self.assertEqual({e["args"]["name"] for e in events if e["name"] == "process_name"}, {"penstock", *(f"rank {r}" for r in range(tp))})
                    self.assertTrue([e for e in events if e["name"] == "wait: io"], "a lane says why it waits")

    def test_counters_end_with_all_bytes_landed(self):
        events, planned, report = self.traced(DATA / "tiny_llama_untied", "--tp", "2")
        for rank in range(2):
            counts = [e for e in events if e["ph"] == "C" and e["pid"] == rank + 1]
            self.assertEqual(counts, sorted(counts, key=lambda e: e["ts"]))
            landed = [e["args"]["landed"] for e in counts]
            self.assertEqual(landed, sorted(landed))
            want = report["ranks"][rank]["bytes_read"]
            self.assertGreaterEqual(landed[-1], want)  # and zeros of padding
            self.assertEqual(counts[-1]["args"]["in requests"], 0)
            self.assertLess(max(e["args"]["in requests"] for e in counts), 1 << 40, "never below zero")
        self.assertEqual(len([e for e in events if e["ph"] == "i" and e["name"].startswith("layer ")]), 2 * 3)

    def test_from_a_store_with_retries_and_credentials(self):
        """The stub's faults are to be seen, its key and token nowhere: each run looks into the trace for them."""
        sas = "sv=2022-11-02&sr=c&sp=rl&sig=Zm9y%2BdGhl%2Fc3R1Yg%3D%3D"
        stub = self.stub(MODEL, sas=sas)
        env = {"AZURE_STORAGE_ENDPOINT": stub.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": "devaccount", "AZURE_STORAGE_SAS_TOKEN": sas}
        stub.faults = [Fault(status(503, "ServerBusy"), "get", SHARD, where=lambda r: r.first and r.first > 700, times=1)]
        events, planned, report = self.traced("az://c/m", "--tp", "2", env=env)
        self.check(events)
        self.check_reads(events, planned, 2)
        self.assertEqual(sum(e["args"]["retries"] for e in self.requests(events)), report["retries"])
        self.assertEqual(report["retries"], 1)
        url = f"{stub.endpoint}/c/m?{sas}"
        self.check(self.traced(url, "--tp", "2", env={})[0])

    def test_a_load_that_failed_is_traced_as_well(self):
        stub = self.stub()
        stub.faults = [Fault(status(403, "AuthorizationFailure"), "get", SHARD, where=lambda r: r.first and r.first > 700)]
        file = self.new_path(".trace")
        self.fails("access", ["403"], "load", "az://c/m", "--trace", file, env=self.env(stub))
        events = json.loads(file.read_text())["traceEvents"]
        self.check(events)
        self.assertTrue([e for e in self.requests(events) if "ended" in e["args"] and "00003" in e["args"]["file"]])

    def test_where_it_is_written(self):
        """Found out before the first byte is read; a file that is there is replaced whole."""
        stub = self.stub()
        nowhere = self.folder / "no/such/folder/trace"
        self.fails("io", [str(nowhere)], "load", "az://c/m", "--trace", nowhere, env=self.env(stub))
        self.assertFalse([r for r in stub.requests("get", SHARD) if r.first and r.first > 700])
        made = self.succeeds("load", DATA / "tiny_llama_tied", "--trace", "-")
        self.check(json.loads(made.out)["traceEvents"])

    def test_names_of_a_checkpoint_are_quoted(self):
        folder = self.new_path("odd")
        folder.mkdir()
        (folder / "config.json").write_bytes((DATA / "tiny_llama_tied" / "config.json").read_bytes())
        names = {}
        for n, file in enumerate(sorted((DATA / "tiny_llama_tied").glob("*.safetensors"))):
            names[file.name] = f'a"b\\{n}\x7f ü.safetensors'
            shutil.copy(file, folder / names[file.name])
        index = json.loads((DATA / "tiny_llama_tied" / "model.safetensors.index.json").read_text())
        index["weight_map"] = {tensor: names[file] for tensor, file in index["weight_map"].items()}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        file = self.new_path(".trace")
        made = self.penstock("load", folder, "--trace", file)
        if made.status == 0:
            events = json.loads(file.read_text())["traceEvents"]
            self.assertEqual({e["args"]["file"] for e in self.requests(events)} - {"zeros"}, set(names.values()))
        else:
            self.assertEqual(made.status, program.STATUS["config"], made)


if __name__ == "__main__":
    program.main()
