"""`load --progress`: one line on a terminal, few lines in a log; a total that never changes."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

from support import DATA, program
from support.blob_stub import Fault, status
from support.http_case import SHARD, HttpTest
from support.program import PROGRAM, executable

FRAME = re.compile(r"(?:\[(#*)(\.*)\] )?\s*(\d+)%  ([\d.]+ \w+) of ([\d.]+ \w+)(?:, ([\d.]+ \w+)/s, (\d+:\d\d)( left)?)?")


class Progress(HttpTest):
    def slow(self, seconds):
        """A store that takes its time for each read of a shard, the longer the later the shard."""
        stub = self.stub()

        def do(handler, request, blob):
            time.sleep(seconds * int(re.search("model-(\\d+)", request.name)[1]))
            handler.answer_head(request, 206, handler.blob_headers(blob, request))
            handler.write(request, handler.ranged(request, blob))

        stub.faults = [Fault(do, "get", "safetensors$", where=lambda r: r.first is not None and r.first > 100)]
        return stub

    def on_terminal(self, *arguments, columns=80, env=(), resize=None):
        """What a terminal of so many columns is sent, and the exit status."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [executable("PENSTOCK_PROGRAM", *PROGRAM), "load", *map(str, arguments), "--progress"]
        process = subprocess.Popen(command, env=self.environment | {"TERM": "xterm"} | dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        self.addCleanup(process.kill)
        os.close(theirs)
        told = b""
        try:
            while data := os.read(ours, 4096):
                told += data
                if resize:
                    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, resize, 0, 0))
        except OSError:
            pass  # the other end is closed
        return told.decode().replace("\r\n", "\n"), process.wait(60)

    def frames(self, told):
        """The texts that were drawn over each other: a return, the text, and the rest of the line is cleared."""
        line, newline, rest = told.partition("\n")
        self.assertEqual(newline, "\n")
        drawn = re.findall(r"\r([ -~]*)\x1b\[K", line)
        self.assertEqual("".join(f"\r{text}\x1b[K" for text in drawn), line, "nothing else is sent")
        return drawn, rest

    def test_one_line_on_a_terminal(self):
        for columns, wide in ((80, 80), (200, 200), (60, 60), (30, 30), (5, 5), (0, 80)):
            with self.subTest(columns):
                told, code = self.on_terminal(DATA / "tiny_llama_tied", "--tp", "3", columns=columns)
                self.assertEqual(code, 0, told)
                drawn, rest = self.frames(told)
                self.assertEqual(rest, "")
                self.assertTrue(all(len(text) < wide for text in drawn), "the last column stays free: nothing wraps")
                if wide < 60:
                    continue
                found = [FRAME.fullmatch(text) for text in drawn]
                self.assertTrue(all(found), drawn)
                self.assertTrue(all(m[1] is not None for m in found[:1]) and len({m[5] for m in found}) == 1, "the total never changes")
                shares = [int(m[3]) for m in found]
                self.assertEqual((shares, shares[0], shares[-1]), (sorted(shares), 0, 100))
                self.assertEqual((found[-1][4], found[-1][8], found[-1][2] or ""), (found[-1][5], None, ""))

    def test_rate_and_time_left(self):
        for columns, later in ((120, 120), (120, 40)):
            stub = self.slow(0.3)
            told, code = self.on_terminal("az://c/m", env=self.env(stub), columns=columns, resize=later)
            self.assertEqual(code, 0, told)
            drawn, _ = self.frames(told)
            self.assertGreater(len(drawn), 3)
            self.assertTrue(all(len(text) < later for text in drawn[2:]), f"as wide as the terminal is now: {drawn}")
            self.assertGreater(len(drawn[0]), 40)
            if later == columns:
                self.assertTrue([text for text in drawn if re.search(r"B/s, \d+:\d\d left$", text)], drawn)
                self.assertRegex(drawn[-1], r"B/s, \d+:\d\d$")

    def test_a_failure_ends_the_line(self):
        stub = self.stub()
        stub.faults = [Fault(status(403, "AuthorizationFailure"), "get", SHARD, where=lambda r: r.first and r.first > 700)]
        told, code = self.on_terminal("az://c/m", env=self.env(stub))
        self.assertEqual(code, program.STATUS["access"])
        _, rest = self.frames(told)
        self.assertRegex(rest, r"^penstock: error: access: [ -~]*\n$")

    def test_few_lines_in_a_log(self):
        stub = self.slow(0.2)
        command = [executable("PENSTOCK_PROGRAM", *PROGRAM), "load", "az://c/m", "--tp", "4", "--slot", "4KiB", "--memory-limit", "16MiB", "--progress"]
        lines = []
        with subprocess.Popen(command, env=self.environment | self.env(stub), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            for line in process.stderr:
                lines.append((time.monotonic(), line.decode()))
        self.assertEqual(process.returncode, 0, lines)
        for _, line in lines:
            self.assertRegex(line, r"^progress: \d+ of \d+ bytes \(\d+ %\)(, [\d.]+ \w+/s, \d+:\d\d( left)?)?\n$")
        self.assertGreaterEqual(len(lines), 2)
        times = [at for at, _ in lines[:-1]]
        self.assertTrue(all(b - a > 2 for a, b in zip(times, times[1:])), lines)
        self.assertEqual(len({re.search(r"of (\d+)", line)[1] for _, line in lines}), 1)
        self.assertIn("(100 %)", lines[-1][1])
        self.assertNotIn("left", lines[-1][1])

    def test_a_terminal_that_can_do_nothing_is_a_log(self):
        told, code = self.on_terminal(DATA / "tiny_llama_tied", env={"TERM": "dumb"})
        self.assertEqual(code, 0)
        self.assertRegex(told, r"^progress: [ -~]*\n$")

    def test_nothing_without_the_option(self):
        self.assertEqual(self.succeeds("load", DATA / "tiny_llama_tied").err, "")


if __name__ == "__main__":
    program.main()
