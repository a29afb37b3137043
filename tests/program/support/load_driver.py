"""The program that performs many loads in one process, see tests/faults/main.cpp."""

import json
import queue
import subprocess
import threading

from .program import executable


class LoadDriver:
    """One process; `load(...)` commands a load and returns what is told of it.

    `prefix`: a command that runs it, `usual`: options of every load.
    """

    def __init__(self, environment, prefix=(), **usual):
        self.usual = usual
        self.process = subprocess.Popen(
            [str(word) for word in (*prefix, executable("PENSTOCK_LOAD_DRIVER", "load_driver"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            bufsize=1,
        )
        self.lines = queue.Queue()
        self.heap = []  # in use after each load
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def load(self, within=90, **options):
        words = {name: value for name, value in (self.usual | options).items() if value is not None}
        command = " ".join(["load", *(f"{name}={value}" for name, value in words.items())])
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        try:
            line = self.lines.get(timeout=within)
        except queue.Empty:
            self.process.kill()
            raise AssertionError(f"no end within {within} s: {command}") from None
        if not line:
            raise AssertionError(f"the driver ended with status {self.process.wait()}: {command}")
        told = json.loads(line)
        told["command"] = command
        self.heap.append(told["heap"])
        return told

    def growth(self):
        """Bytes by which the heap grew from the first third of the loads, without the very first, to the last third."""
        third = len(self.heap) // 3
        first, last = sorted(self.heap[5 : third + 5]), sorted(self.heap[-third:])
        return last[len(last) // 2] - first[len(first) // 2]

    def stop(self):
        """@returns the exit status: not 0 where a sanitizer found something at the end"""
        self.process.stdin.close()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.close()

    def close(self):
        """Whatever happened: no process, thread or pipe of it is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()
