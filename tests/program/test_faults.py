"""Every fault at every point of a load over HTTP: the right bytes or the right error, in time, and nothing left behind.

PENSTOCK_FAULT_ROUNDS=N takes N seeds for each case instead of one, PENSTOCK_FAULT_SEED=N begins with another.
"""

import itertools

from support import program
from support.azurite import Azurite
from support.fault_case import ROUNDS, SEED, FaultTest, model
from support import http_faults as f
from support.fault_proxy import POINTS
from support.http_faults import rule, source

KINDS = {"R": "right", "T": "transient", "C": "changed", "F": "format", "I": "io", "A": "access", "N": "not_found"}
GROUPS = {"list": 0, "pin_index": 1, "pin_shard": 1, "pin_file": 1, "index": 2, "header": 2, "body": 2, "file": 2}
# What a load may end with when the fault strikes once and when it never ends: for a listing, for a HEAD that pins an
# object (it has no body), and for a read of a range.
FAULTS = {
    "cut": (f.cut, "RT", "RR", "RT"),
    "cut in the head": (f.cut_in_head, "RT", "RT", "RT"),
    "reset": (f.reset, "RT", "RR", "RT"),
    "no answer, closed": (f.refuse, "RT", "RT", "RT"),
    "silence": (f.silence, "RT", "RT", "RT"),
    "stall": (f.stall, "RT", "RR", "RT"),
    "too slow": (f.trickle, "RT", "RR", "RT"),
    "drip": (f.drip, "RR", "RR", "RR"),
    "slow first byte": (f.late, "RR", "RR", "RR"),
    "closes": (f.closes, "RR", "RR", "RR"),
    "503": (f.status(503, "ServerBusy"), "RT", "RT", "RT"),
    "500": (f.status(500, "InternalError"), "RT", "RT", "RT"),
    "429": (f.status(429, "TooManyRequests"), "RT", "RT", "RT"),
    "408": (f.status(408, "Timeout"), "RT", "RT", "RT"),
    "403": (f.status(403, "AuthorizationFailure"), "AA", "AA", "AA"),
    "404": (f.status(404, "BlobNotFound"), "NN", "NN", "NN"),
    "412": (f.status(412, "ConditionNotMet"), "CC", "CC", "CC"),
    "307": (f.status(307, "Elsewhere"), "II", "II", "II"),
    "length short": (f.edited(f.length_short), "II", "CC", "RT"),
    "length long": (f.edited(f.length_long), "RT", "CC", "RF"),
    "two lengths": (f.edited(f.length_twice), "RT", "RT", "RT"),
    "no length": (f.without_length, "RR", "II", "RR"),
    "every header twice": (f.edited(f.all_twice), "RR", "RR", "RR"),
    "another range": (f.edited(f.range_shifted), "RR", "RR", "RF"),
    "no range": (f.edited(f.range_missing), "RR", "RR", "RF"),
    "another total": (f.edited(f.range_total), "RR", "RR", "CC"),
    "another ETag": (f.edited(f.etag_other), "RR", "CC", "CC"),
    "no ETag": (f.edited(f.etag_missing), "RR", "II", "II"),
    "two ETags": (f.edited(f.etag_twice), "RR", "II", "CC"),
    "encoded": (f.edited(f.encoded), "RR", "FF", "FF"),
    "in chunks": (f.in_chunks(b""), "RR", "RR", "RR"),
    "more than asked for": (f.in_chunks(bytes(3000)), "II", "RR", "RF"),
    "the whole object": (f.whole, "RR", "RR", "II"),
    "no HTTP": (f.junk, "II", "II", "II"),
    "a huge head": (f.huge_head, "II", "II", "II"),
    "early hints": (f.early_hints, "RR", "RR", "RR"),
}
WHOLE = {("the whole object", "index"), ("the whole object", "file")}  # read whole, so the whole is right


def allowed(fault, point, ever):
    if (fault, point) in WHOLE:
        return {"right"}
    return {KINDS[FAULTS[fault][1 + GROUPS[point]][ever]]}


class Faults(FaultTest):
    def one_fault(self, worker, case):
        fault, point, which, ever, number = case
        seed = source(f"{number} {fault} {point} {which} {ever}")
        how = self.how(seed)
        last = worker.bodies_of(how) - 1 if point == "body" else 0
        skip = {"first": 0, "last": last, "middle": seed.randint(0, last)}[which]
        broken = rule(FAULTS[fault][0], seed, point, skip, float("inf") if ever else 1)
        told = worker.load(how, broken, cold=point == "file")
        struck = [(s.method, s.range) for s in worker.proxy.log if s.faulty]
        self.assertTrue(struck, ("the fault struck nobody", how, told))
        self.assertIn(self.verdict(told, how), allowed(fault, point, ever), (struck, worker.proxy.count("body"), told))
        self.assertLess(told["ms"], 20000)

    def test_every_fault_at_every_point(self):
        points = [(p, "first") for p in POINTS] + [("body", "middle"), ("body", "last")]
        seeds = range(SEED, SEED + ROUNDS)
        cases = [(fault, *at, False, n) for n in seeds for fault, at in itertools.product(FAULTS, points)]
        for n in seeds:
            for fault in FAULTS:
                for group in range(3):
                    mine = [p for p in POINTS if GROUPS[p] == group]
                    cases.append((fault, source(f"{n} {fault} {group}").choice(mine), "first", True, n))
        self.at_once(cases, self.one_fault, self.stub().server.server_address)

    def test_several_faults_in_one_load(self):
        slow = {"silence", "stall", "too slow"}

        def run(worker, number):
            seed = source(number)
            how = self.how(seed)
            worker.bodies_of(how)
            cold = seed.random() < 0.3
            may, rules, names = {"right"}, [], []
            fatal = seed.random() < 0.3
            for _ in range(seed.randint(2, 6)):
                while True:
                    fault, point = seed.choice(list(FAULTS)), seed.choice(POINTS)
                    once = allowed(fault, point, False)
                    if (once == {"right"} or fatal) and (fault not in slow or seed.random() < 0.2):
                        break
                # A format error is believed the second time, and two faults may strike one range.
                may |= once | (allowed(fault, point, True) & {"format"})
                rules.append(rule(FAULTS[fault][0], seed, point, seed.randint(0, 3), seed.randint(1, 2)))
                names.append((fault, point))
            told = worker.load(how, *rules, cold=cold, attempts=20)
            self.assertIn(self.verdict(told, how), may, (names, told))

        self.at_once(range(SEED * 1000, SEED * 1000 + 60 * ROUNDS), run, self.stub().server.server_address)

    def test_a_signed_store_behind_the_proxy(self):
        azurite = Azurite().start()
        self.addCleanup(azurite.stop)
        azurite.create_container("models")
        azurite.upload("models", "m", model())
        signed = sorted(set(FAULTS) - {"the whole object"})  # the range is signed
        cases = [(fault, source(f"{SEED} {fault}").choice(POINTS), "first", False, SEED) for fault in signed]
        cases += [(fault, "body", "middle", True, SEED) for fault in ("cut", "503", "another ETag", "two lengths")]
        self.at_once(cases, self.one_fault, ("127.0.0.1", azurite.port), uri="az://models/m",
                     account=azurite.account, key=azurite.key, first_byte=2000, stall=2000)


if __name__ == "__main__":
    program.main()
