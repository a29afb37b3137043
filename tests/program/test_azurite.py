"""The whole way over a blob emulator: inspect, plan, load and fetch, with every kind of credential."""

import concurrent.futures

from support import DATA, azure_auth, program
from support.azurite import Azurite
from support.program import ProgramTest, read_digests

NAME, TP = "tiny_llama_untied", 4


class Emulator(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.azurite = Azurite().start()
        cls.addClassCleanup(cls.azurite.stop)
        cls.azurite.create_container("models")
        cls.azurite.create_container("open", public=True)
        cls.azurite.upload("models", "llms/tiny", DATA / NAME)
        cls.azurite.upload("open", "tiny", DATA / NAME)

    def setUp(self):
        super().setUp()
        self.secrets = [azure_auth.KEY]
        self.key = {
            "AZURE_STORAGE_ENDPOINT": self.azurite.endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": azure_auth.KEY,
        }

    def whole_way(self, uri, env):
        """All commands, and the right digests."""
        self.assertIn("llama", self.succeeds("inspect", uri, env=env).out.lower())
        self.succeeds("plan", uri, "--tp", str(TP), env=env)
        made, digests, report = self.load(uri, "--tp", str(TP), "--memory-limit", "64MiB", env=env)
        self.assertEqual(digests, read_digests(DATA / f"{NAME}.tp{TP}.digest"), made)
        self.assertEqual(report["retries"], 0)
        got = self.new_path("fetched")
        self.succeeds("fetch", uri, got, env=env)
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            self.assertEqual((got / name).read_bytes(), (DATA / NAME / name).read_bytes())
        self.assertFalse(list(got.rglob("*.safetensors")))

    def test_connection_string(self):
        self.whole_way("az://models/llms/tiny", {"AZURE_STORAGE_CONNECTION_STRING": self.azurite.connection_string})

    def test_connection_string_of_the_development_store(self):
        text = f"UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://127.0.0.1:{self.azurite.port}"
        self.whole_way("az://models/llms/tiny/", {"AZURE_STORAGE_CONNECTION_STRING": text})

    def test_account_and_key(self):
        self.whole_way("az://models/llms/tiny", self.key)

    def test_other_names_of_the_key(self):
        for name in ("AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"):
            env = {k: v for k, v in self.key.items() if k != "AZURE_STORAGE_ACCOUNT_KEY"} | {name: azure_auth.KEY}
            with self.subTest(name):
                self.succeeds("inspect", "az://models/llms/tiny", env=env)

    def test_other_schemes(self):
        for uri in ("abfs://models/llms/tiny", "azure://models/llms/tiny", "AZ://models/llms/tiny"):
            with self.subTest(uri):
                self.succeeds("inspect", uri, env=self.key)

    def test_service_sas(self):
        token = azure_auth.service_sas("models")
        base = {"AZURE_STORAGE_ENDPOINT": self.azurite.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT}
        self.whole_way("az://models/llms/tiny", base | {"AZURE_STORAGE_SAS_TOKEN": token})

    def test_account_sas(self):
        token = azure_auth.account_sas()
        base = {"AZURE_STORAGE_ENDPOINT": self.azurite.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT}
        self.whole_way("az://models/llms/tiny", base | {"AZURE_STORAGE_SAS_TOKEN": "?" + token})

    def test_sas_in_a_connection_string(self):
        token = azure_auth.account_sas()
        text = f"BlobEndpoint={self.azurite.endpoint};SharedAccessSignature={token}"
        self.whole_way("az://models/llms/tiny", {"AZURE_STORAGE_CONNECTION_STRING": text})

    def test_anonymous(self):
        self.whole_way(
            "az://open/tiny",
            {
                "AZURE_STORAGE_ENDPOINT": self.azurite.endpoint,
                "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT,
                "AZURE_STORAGE_ANON": "1",
            },
        )

    def test_url_of_the_emulator(self):
        url = f"{self.azurite.endpoint}/models/llms/tiny"
        self.whole_way(
            url, {"AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": azure_auth.KEY}
        )
        self.whole_way(f"{self.azurite.endpoint}/open/tiny", {"AZURE_STORAGE_ANON": "1"})
        token = azure_auth.service_sas("models")
        self.whole_way(f"{url}?{token}", {})

    def test_wrong_key(self):
        wrong = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXk="
        for command in ("inspect", "load"):
            self.fails(
                "access", ["403"], command, "az://models/llms/tiny", env=self.key | {"AZURE_STORAGE_ACCOUNT_KEY": wrong}
            )

    def test_sas_that_may_not(self):
        base = {"AZURE_STORAGE_ENDPOINT": self.azurite.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT}
        for token in (
            azure_auth.service_sas("open"),
            azure_auth.service_sas("models", permissions="w"),
            azure_auth.service_sas("models", expiry="2021-01-01T00:00:00Z"),
        ):
            self.fails(
                "access", ["403"], "load", "az://models/llms/tiny", env=base | {"AZURE_STORAGE_SAS_TOKEN": token}
            )

    def test_expired_sas_is_said_to_be_expired(self):
        token = azure_auth.service_sas("models", expiry="2021-01-01T00:00:00Z")
        base = {"AZURE_STORAGE_ENDPOINT": self.azurite.endpoint, "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT}
        self.fails(
            "access", ["expired"], "load", "az://models/llms/tiny", env=base | {"AZURE_STORAGE_SAS_TOKEN": token}
        )

    def test_anonymous_into_a_private_container(self):
        self.fails(
            ["access", "not_found"],
            [],
            "load",
            "az://models/llms/tiny",
            env={
                "AZURE_STORAGE_ENDPOINT": self.azurite.endpoint,
                "AZURE_STORAGE_ACCOUNT_NAME": azure_auth.ACCOUNT,
                "AZURE_STORAGE_ANON": "1",
            },
        )

    def test_what_is_not_there(self):
        self.fails("not_found", ["nowhere"], "load", "az://nowhere/llms/tiny", env=self.key)
        self.fails("not_found", ["llms/nothing"], "load", "az://models/llms/nothing", env=self.key)
        self.azurite.upload("models", "broken", DATA / NAME)
        status, _ = self.azurite.request("DELETE", "models/broken/model-00002-of-00005.safetensors")
        self.assertEqual(status, 202)
        self.fails("not_found", ["model-00002-of-00005.safetensors"], "load", "az://models/broken", env=self.key)

    def test_no_account(self):
        self.fails(["access", "usage"], ["AZURE_STORAGE_ACCOUNT_NAME"], "load", "az://models/llms/tiny")

    def test_two_processes_share_a_cache(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for done in [
                pool.submit(self.load, "az://models/llms/tiny", "--tp", str(TP), env=self.key) for _ in range(8)
            ]:
                self.assertEqual(done.result()[1], read_digests(DATA / f"{NAME}.tp{TP}.digest"))


if __name__ == "__main__":
    program.main()
