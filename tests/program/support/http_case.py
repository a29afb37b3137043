"""What tests against the misbehaving blob server share."""

from . import DATA
from .blob_stub import BlobStub
from .program import ProgramTest

from penstock_reference.architectures import parameters
from penstock_reference.checkpoint import Checkpoint
from penstock_reference.safetensors import read_header

MODEL = DATA / "tiny_llama_untied"
ANONYMOUS = {"AZURE_STORAGE_ANON": "1", "AZURE_STORAGE_ACCOUNT_NAME": "devaccount"}
SHARD = r"00003-of-00005\.safetensors$"  # the shard of MODEL that faults concern


DATA_STARTS = {file.name: min(t.first for t in read_header(file).values()) for file in MODEL.glob("*.safetensors")}


def data_read(request):
    """Is it a read of tensor bytes, not of a header?"""
    return request.first is not None and request.first >= DATA_STARTS.get(request.name.split("/")[-1], 0)


class HttpTest(ProgramTest):
    def stub(self, folder=MODEL, prefix="m/", **options):
        stub = BlobStub(**options)
        self.addCleanup(stub.stop)
        if folder:
            stub.put_folder(prefix, folder)
        return stub

    def env(self, stub, **more):
        return {"AZURE_STORAGE_ENDPOINT": stub.endpoint} | (more or ANONYMOUS)

    def loads(self, stub, uri="az://c/m", folder=MODEL, tp=2, arch="llama", env=None, **options):
        """A load with the right bytes."""
        made, digests, report = self.load(uri, "--tp", str(tp), "--arch", arch, env=env or self.env(stub), **options)
        want = {
            (rank, p.name): p.line(rank) for rank in range(tp) for p in parameters(Checkpoint(folder), arch, tp, rank)
        }
        self.assertEqual(digests, want, made)
        return made, report

    def fails_on(self, stub, kinds, words=(), uri="az://c/m", env=None, **options):
        return self.fails(kinds, words, "load", uri, "--tp", "2", env=env or self.env(stub), **options)
