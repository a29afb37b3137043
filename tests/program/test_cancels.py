"""A load that is stopped, or whose sink throws, at any moment: an end in time, and then nothing of it is left.

PENSTOCK_FAULT_ROUNDS=N takes N times as many moments, PENSTOCK_FAULT_SEED=N others.
"""

import itertools
import signal
import ssl
import statistics
import subprocess
import time

from support import program
from support import http_faults as f
from support.fault_case import ROUNDS, SEED, FaultTest, Worker, model
from support.fault_proxy import POINTS, FaultProxy, Rule
from support.http_faults import rule, source
from support.program import executable

NEVER = {"first_byte": 60000, "stall": 60000, "connect": 60000, "time": 600000, "attempts": 1000}
MOMENTS = 3 * ROUNDS


class Cancels(FaultTest):
    def setUp(self):
        super().setUp()
        self.delays = []  # from the request to the return, in ms

    def stopped(self, told, how, kinds=("cancelled",), most=2000):
        """An end in time, for one of these reasons."""
        self.assertIn(self.verdict(told, how), kinds, told)
        if "cancel_ms" in told and told.get("error") == "cancelled":
            self.delays.append(told["cancel_ms"])
            self.assertLess(told["cancel_ms"], most, told)

    def are_quick(self, promised=100):
        """The promise holds, though a busy machine may break it now and then."""
        self.assertGreater(len(self.delays), 2)
        self.assertLess(statistics.median(self.delays), promised, self.delays)

    def worker(self, **usual):
        return Worker(self, 0, self.stub().server.server_address, **usual)

    def stuck(self, worker, number, *rules, **options):
        """A load that would never end is stopped."""
        seed = source(f"{SEED} {number}")
        how = self.how(seed)
        told = worker.load(how, *rules, **(NEVER | {"cancel_us": seed.randint(20_000, 120_000)} | options))
        self.stopped(told, how)
        return told

    def test_while_the_store_says_nothing(self):
        worker = self.worker()
        for n in range(MOMENTS):
            for point in POINTS:
                seed = source(f"{SEED} {n} {point}")
                make = seed.choice([f.silence] if point.startswith("pin") else [f.silence, f.stall])
                self.stuck(worker, f"{n} {point}", rule(make, seed, point), cold=point == "file")
        self.are_quick()
        self.ends_clean(worker.driver)

    def test_while_it_waits_for_the_next_attempt(self):
        worker = self.worker()
        for n in range(MOMENTS):
            for point in POINTS:
                do = f.status(503, "ServerBusy") if n % 2 else f.refuse
                self.stuck(worker, f"{n} {point}", rule(do, source(n), point), base=30000, cold=point == "file")
        self.are_quick()
        self.ends_clean(worker.driver)

    def deaf_after(self, point, full):
        """After the answers to these requests the store takes no connection."""

        def do(client, answer):
            client.server.owner.become_deaf(full)
            client.give(answer)
            client.close_connection = True

        return Rule(do, point)

    def test_while_it_connects(self):
        worker = self.worker()
        for n in range(MOMENTS):
            for point in ("list", "pin_index", "pin_file"):  # whatever comes next has a connection of its own
                self.stuck(worker, f"{n} {point}", self.deaf_after(point, True))
        self.are_quick()
        self.ends_clean(worker.driver)

    def test_while_it_shakes_hands(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        made = program.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
            + ["-days", "2", "-subj", "/CN=stub", "-addext", "subjectAltName=IP:127.0.0.1"],
            env=self.environment,
        )
        self.assertEqual(made.status, 0, made)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        worker = Worker(self, 0, self.stub().server.server_address, tls=context, ca=certificate)
        how = self.how(source(SEED))
        self.assertEqual(self.verdict(worker.load(how), how), "right")
        for n in range(MOMENTS):
            for point in ("list", "pin_index", "pin_file"):
                self.stuck(worker, f"{n} {point}", self.deaf_after(point, False))
        self.are_quick()
        self.ends_clean(worker.driver)

    def test_at_random_moments(self):
        worker, folder = self.worker(), model()
        took = {}
        for n in range(20 * MOMENTS):
            seed = source(f"{SEED} {n}")
            how = self.how(seed)
            options = {"serial": seed.choice([0, 1, 1])}
            if n % 2:
                options |= {"uri": folder}
            kind = n % 2, how["ownership"]
            if kind not in took:
                took[kind] = worker.load(how, **options)["ms"]
            moment = int(1000 * took[kind] * seed.uniform(0, 1.2))
            told = worker.load(how, cancel_us=moment, **options)
            self.stopped(told, how | options, ("cancelled", "right"))
        self.are_quick()
        self.ends_clean(worker.driver)

    def test_in_a_callback(self):
        worker, folder = self.worker(), model()
        for n in range(6 * MOMENTS):
            seed = source(f"{SEED} {n}")
            how = self.how(seed)
            where = {"uri": folder} if n % 2 else {}
            calls = worker.load(how, **where)["calls"]
            told = worker.load(how, do="stop", at=seed.randrange(calls), linger_us=seed.choice([0, 200]), **where)
            self.stopped(told, how, ("cancelled", "right"))
            told = worker.load(how, cancel_us=seed.randint(0, 40_000), linger_us=2000, **where)
            self.stopped(told, how, ("cancelled", "right"))
        self.are_quick()
        self.ends_clean(worker.driver)

    def test_while_a_disk_is_read(self):
        driver, folder = self.driver(), model()
        for n in range(6 * MOMENTS):
            seed = source(f"{SEED} {n}")
            how = self.how(seed)
            reads = driver.load(**how, uri=folder)["reads"]
            told = driver.load(**how, uri=folder, read_at=seed.randrange(reads), read_do="stop")
            self.stopped(told, how, ("cancelled", "right"))
            told = driver.load(**how, uri=folder, read_us=20_000, cancel_us=seed.randint(0, 100_000))
            self.stopped(told, how, ("cancelled", "right"))
        self.are_quick()
        self.ends_clean(driver)


class Sinks(FaultTest):
    """Whatever a sink throws comes out of the load, after all is quiet."""

    def test_every_callback_may_throw(self):
        worker, folder = Worker(self, 0, self.stub().server.server_address), model()
        thrown = {"exception": "thrown by the sink", "error": "thrown by the sink", "number": "something else"}
        for n in range(MOMENTS):
            for ownership in ("place", "own", "borrow"):
                for do, words in thrown.items():
                    seed = source(f"{SEED} {n} {ownership} {do}")
                    how = self.how(seed) | {"ownership": ownership, "serial": seed.choice([0, 1, 1])}
                    where = {"uri": folder} if seed.random() < 0.5 else {}
                    at = seed.randrange(worker.load(how, **where)["calls"])
                    told = worker.load(how, do=do, at=at, linger_us=seed.choice([0, 0, 300]), **where)
                    self.assertEqual(self.verdict(told, how), "thrown", told)
                    self.assertEqual(told["thrown"], words, told)
        self.ends_clean(worker.driver)

    def test_memory_that_runs_out(self):
        worker, folder = Worker(self, 0, self.stub().server.server_address), model()
        for n in range(4 * MOMENTS):
            seed = source(f"{SEED} {n}")
            how = self.how(seed) | {"ownership": "own"}
            where = {"uri": folder} if n % 2 else {}
            calls = worker.load(how, **where)["calls"]
            told = worker.load(how, memory_at=seed.randrange(calls), **where)
            self.assertEqual(self.verdict(told, how), "memory", told)
        self.ends_clean(worker.driver)


class Program(FaultTest):
    def test_a_signal_ends_it_wherever_it_is(self):
        for number, point in itertools.product((signal.SIGINT, signal.SIGTERM), POINTS):
            with self.subTest(point, signal=number):
                proxy = FaultProxy(self.stub().server.server_address)
                self.addCleanup(proxy.stop)
                proxy.begin(rule(f.silence, source(SEED), point))
                digest = self.new_path(".digest")
                env = self.environment | {
                    "AZURE_STORAGE_ANON": "1",
                    "AZURE_STORAGE_ACCOUNT_NAME": "devaccount",
                    "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{proxy.port}/devaccount",
                    "PENSTOCK_CACHE": str(self.new_path("")),
                }
                process = subprocess.Popen(
                    [executable("PENSTOCK_PROGRAM", *program.PROGRAM), "load", "az://c/m", "--digest", digest],
                    env=env,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                self.addCleanup(process.kill)
                end = time.monotonic() + 9
                while not proxy.count(point):
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.005)
                process.send_signal(number)
                _, told = process.communicate(timeout=9)  # the store would be waited for ten seconds
                self.assertEqual(process.returncode, program.STATUS["cancelled"], told)
                self.assertEqual(told.count("penstock: error: cancelled: "), 1, told)
                unfinished = [x for x in self.folder.rglob("*") if x.name.startswith(".") or ".part" in x.name]
                self.assertEqual((digest.exists(), unfinished), (False, []))


if __name__ == "__main__":
    program.main()
