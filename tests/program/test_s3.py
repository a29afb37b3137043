"""The whole way from stores that speak S3: SeaweedFS, OpenStack Swift, moto, and a stub with every source of credentials."""

import datetime
import json
import pathlib
import shutil
import tempfile

from support import DATA, program
from support.blob_stub import Fault, status
from support.program import ProgramTest, read_digests
from support.s3_stores import Moto, SeaweedFS, Swift
from support.s3_stub import CredentialService, S3Stub, keys_as_json, keys_as_xml

NAME, TP = "tiny_llama_untied", 4
SIDES = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")


class S3Test(ProgramTest):
    def given(self, name, text):
        """A file that a user has, with what may be a secret in it."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-test-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / name).write_text(text)
        return str(folder / name)

    def whole_way(self, uri, env):
        """All commands, and the right digests."""
        self.assertIn("llama", self.succeeds("inspect", uri, env=env).out.lower())
        self.succeeds("plan", uri, "--tp", str(TP), env=env)
        self.loads(uri, env)
        got = self.new_path("fetched")
        self.succeeds("fetch", uri, got, env=env)
        for name in SIDES:
            self.assertEqual((got / name).read_bytes(), (DATA / NAME / name).read_bytes())
        self.assertFalse(list(got.rglob("*.safetensors")))

    def loads(self, uri, env):
        made, digests, report = self.load(uri, "--tp", str(TP), "--memory-limit", "64MiB", env=env)
        self.assertEqual(digests, read_digests(DATA / f"{NAME}.tp{TP}.digest"), made)
        self.assertEqual(report["retries"], 0, made)
        return made

    @classmethod
    def started(cls, store):
        store.start()
        cls.addClassCleanup(store.stop)
        store.client().create_bucket(Bucket="models")
        store.upload("models", "llms/tiny", DATA / NAME)
        return store


class Strict(S3Test):
    """Swift looks at every signature as S3 does."""

    @classmethod
    def setUpClass(cls):
        cls.store = cls.started(Swift(region="eu-test-2"))
        cls.environment_of_store = cls.store.environment | {"AWS_REGION": cls.store.region}

    def test_the_whole_way(self):
        self.whole_way("s3://models/llms/tiny", self.environment_of_store)

    def test_another_region_is_learned_from_the_store(self):
        for uri in ("s3://models/llms/tiny/", "s3a://models/llms/tiny"):
            self.loads(uri, self.store.environment)
            self.loads(uri, self.store.environment | {"AWS_REGION": "us-west-2"})

    def test_a_profile_says_everything(self):
        config = (
            "[profile swift]\nregion = eu-test-2\nservices = mine\n"
            f"[services mine]\ns3 =\n  endpoint_url = {self.store.endpoint}\n"
        )
        keys = f"[swift]\naws_access_key_id = {self.store.access_key}\naws_secret_access_key = {self.store.secret_key}\n"
        self.secrets = [self.store.secret_key]
        files = {
            "AWS_CONFIG_FILE": self.given("config", config),
            "AWS_SHARED_CREDENTIALS_FILE": self.given("credentials", keys),
        }
        self.loads("s3://models/llms/tiny", files | {"AWS_PROFILE": "swift"})

    def test_keys_with_every_special_character(self):
        client = self.store.client()
        folders = ("with space", "with%20space", "a+b", "\u00fc", "h#h", "q?x", "s/./t", "=&;,'()!*$@:~[]{}|^`\"<>\\")
        for folder in folders:
            client.put_object(Bucket="models", Key=f"models/{folder}/config.json", Body=(DATA / NAME / "config.json").read_bytes())
            client.put_object(Bucket="models", Key=f"models/{folder}/x.txt", Body=folder.encode())
            got = self.new_path("fetched")
            self.succeeds("fetch", f"s3://models/models/{folder}", got, env=self.environment_of_store)
            self.assertEqual((got / "x.txt").read_text(), folder)

    def test_a_sibling_whose_name_begins_alike_is_left_alone(self):
        client = self.store.client()
        for key in ("m/run/config.json", "m/run/a.txt", "m/run_2/b.txt", "m/run.txt"):
            client.put_object(Bucket="models", Key=key, Body=b"{}")
        for uri in ("s3://models/m/run", "s3://models/m/run/"):
            got = self.new_path("fetched")
            self.succeeds("fetch", uri, got, env=self.environment_of_store)
            self.assertEqual(sorted(f.name for f in got.rglob("*") if f.is_file() and not f.name.startswith(".")), ["a.txt", "config.json"])
        self.fails("not_found", ["s3://models/m/ru"], "inspect", "s3://models/m/ru", env=self.environment_of_store)

    def test_refusals_say_why(self):
        env = self.environment_of_store
        self.fails(
            "access",
            ["SignatureDoesNotMatch", "AWS_ACCESS_KEY_ID", "check the secret key"],
            "load",
            "s3://models/llms/tiny",
            env=env | {"AWS_SECRET_ACCESS_KEY": "wrongSecret/Key+0123456789"},
        )
        self.fails("not_found", ["NoSuchBucket"], "inspect", "s3://nobodys/llms/tiny", env=env)
        self.fails("not_found", ["llms/none"], "inspect", "s3://models/llms/none", env=env)
        self.fails("access", ["secret key", "AWS_ACCESS_KEY_ID"], "inspect", "s3://models/x", env={"AWS_ACCESS_KEY_ID": "x"})
        self.fails(
            "access",
            ["tried", "AWS_ACCESS_KEY_ID", "instance metadata"],
            "inspect",
            "s3://models/x",
            env={"AWS_EC2_METADATA_DISABLED": "true"},
        )
        self.fails("access", ["profile nobody"], "inspect", "s3://models/x", env={"AWS_PROFILE": "nobody"})


class Seaweed(S3Test):
    @classmethod
    def setUpClass(cls):
        cls.store = cls.started(SeaweedFS())

    def test_the_whole_way(self):
        self.whole_way("s3://models/llms/tiny", self.store.environment)

    def test_a_wrong_key(self):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            env = self.store.environment | {name: "AKWRONGWRONGWRONG"}
            self.fails("access", ["403", "AWS_ACCESS_KEY_ID"], "load", "s3://models/llms/tiny", env=env)


class Accounts(S3Test):
    """moto: sessions and roles. It signs a prefix with a slash in its own way, so the model is at the top of a bucket."""

    @classmethod
    def setUpClass(cls):
        cls.store = Moto()
        cls.store.start()
        cls.addClassCleanup(cls.store.stop)
        client, iam, sts = cls.store.client(), cls.store.client("iam"), cls.store.client("sts")
        client.create_bucket(Bucket="models")
        cls.store.upload("models", "", DATA / NAME)
        everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        iam.create_user(UserName="u")
        iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(everything))
        made = iam.create_access_key(UserName="u")["AccessKey"]
        cls.user = made["AccessKeyId"], made["SecretAccessKey"]
        trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:*", "Principal": {"AWS": "*"}}]}
        cls.role = iam.create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
        iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=json.dumps(everything))
        cls.session = sts.assume_role(RoleArn=cls.role, RoleSessionName="session")["Credentials"]
        cls.store.check_signatures()

    def setUp(self):
        super().setUp()
        self.usual = {"AWS_ENDPOINT_URL": self.store.endpoint, "AWS_REGION": "us-east-1"}
        self.secrets = [self.user[1], self.session["SecretAccessKey"], self.session["SessionToken"]]

    def profile(self, text):
        return self.usual | {"AWS_CONFIG_FILE": self.given("config", text)}

    def test_a_session_needs_its_token(self):
        env = self.usual | {
            "AWS_ACCESS_KEY_ID": self.session["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": self.session["SecretAccessKey"],
        }
        self.loads("s3://models", env | {"AWS_SESSION_TOKEN": self.session["SessionToken"]})
        self.fails("access", ["AWS_ACCESS_KEY_ID"], "load", "s3://models", env=env)

    def test_a_role_by_a_source_profile(self):
        id, key = self.user
        env = self.profile(
            f"[default]\nrole_arn = {self.role}\nsource_profile = base\n"
            f"[profile base]\naws_access_key_id = {id}\naws_secret_access_key = {key}\n"
        )
        self.loads("s3://models", env)
        env = self.profile(
            f"[default]\nrole_arn = {self.role}\nsource_profile = base\n"
            f"[profile base]\naws_access_key_id = {id}\naws_secret_access_key = wrong{key}\n"
        )
        self.fails("access", ["the role of the profile default"], "load", "s3://models", env=env)

    def test_a_web_identity(self):
        file = self.given("token", "h.e30.s\n")
        env = self.usual | {"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": self.role}
        self.store.check_signatures(after=1)  # moto wants a signature even for this request, which has none
        self.loads("s3://models", env)


class Stubs(S3Test):
    """Where keys come from, and what becomes of them during a load."""

    id, key, token = "AKIDSTUB000000000000", "stubSecret/Key+For0Tests", "stubToken//==and+more"

    def setUp(self):
        super().setUp()
        self.stub = S3Stub({self.id: (self.key, self.token)})
        self.addCleanup(self.stub.stop)
        self.stub.put_folder("m/", DATA / NAME)
        self.service = CredentialService()
        self.addCleanup(self.service.stop)
        self.secrets = [self.key, self.token, "tokenOfTheMachine"]
        self.usual = {"AWS_ENDPOINT_URL_S3": self.stub.endpoint, "AWS_ENDPOINT_URL_STS": self.service.url}
        self.nobody = {"AWS_EC2_METADATA_DISABLED": "true"}

    def static(self, id=None, key=None, token=None):
        return self.usual | {
            "AWS_ACCESS_KEY_ID": id or self.id,
            "AWS_SECRET_ACCESS_KEY": key or self.key,
            "AWS_SESSION_TOKEN": token or self.token,
        }

    def test_instance_metadata(self):
        base = "/latest/meta-data/iam/security-credentials/"
        known = lambda text: lambda path, headers, form: (
            (200, text) if headers.get("x-aws-ec2-metadata-token") == "tokenOfTheMachine" else (401, "")
        )
        self.service.answers["/latest/api/token"] = "tokenOfTheMachine"
        self.service.answers[base] = known("the-role\n")
        self.service.answers[base + "the-role"] = known(keys_as_json(self.id, self.key, self.token))
        env = self.usual | {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.service.url}
        self.whole_way("s3://b/m", env)
        put = self.service.asked("/latest/api/token")[0]
        self.assertEqual((put[0], put[2]["x-aws-ec2-metadata-token-ttl-seconds"]), ("PUT", "21600"))
        # Keys that the service could not renew are used all the same.
        self.service.answers[base + "the-role"] = known(keys_as_json(self.id, self.key, self.token, "2020-01-01T00:00:00Z"))
        self.loads("s3://b/m", env)
        self.service.answers[base] = (404, "")
        self.fails("access", ["give the instance a role"], "load", "s3://b/m", env=env)
        self.service.answers["/latest/api/token"] = (403, "")
        self.fails(
            "access", ["IMDSv2", "hop limit"], "load", "s3://b/m", env=env | {"AWS_EC2_METADATA_V1_DISABLED": "true"}
        )

    def test_a_container(self):
        self.service.answers["/keys"] = lambda path, headers, form: (
            (200, keys_as_json(self.id, self.key, self.token)) if headers.get("authorization") == "tokenOfTheMachine" else (403, "")
        )
        env = self.usual | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": self.service.url + "/keys"}
        self.loads("s3://b/m", env | {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": self.given("t", "tokenOfTheMachine\n")})
        self.loads("s3://b/m", env | {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "tokenOfTheMachine"})
        self.fails("access", ["container credentials", "403"], "load", "s3://b/m", env=env)

    def test_a_web_identity_is_sent_in_the_body_and_read_again(self):
        action = "AssumeRoleWithWebIdentity"
        self.service.answers[action] = keys_as_xml(action, self.id, self.key, self.token)
        file = self.given("token", "identity\n")
        env = self.usual | {"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r"}
        self.loads("s3://b/m", env)
        (_, _, headers, form), *_ = self.service.asked(action)
        self.assertNotIn("authorization", headers)
        self.assertEqual(form["WebIdentityToken"], "identity")
        self.assertEqual(form["RoleArn"], "arn:aws:iam::1:role/r")
        self.service.answers[action] = (400, "<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>")
        self.fails("access", ["web identity", "ExpiredTokenException"], "load", "s3://b/m", env=env)
        self.service.answers[action] = "<html/>"
        self.fails("access", ["expected keys, found another document"], "load", "s3://b/m", env=env)

    def test_a_credential_process(self):
        printed = json.dumps({"Version": 1, "AccessKeyId": self.id, "SecretAccessKey": self.key, "SessionToken": self.token})
        config = f"[default]\ncredential_process = cat '{self.given('printed it', printed)}'\n"
        self.loads("s3://b/m", self.usual | {"AWS_CONFIG_FILE": self.given("config", config)})

    def test_keys_that_expire_during_a_load_are_renewed(self):
        """A source that can be asked again is; fixed keys fail at once."""
        self.stub.keys["AKIDSECOND0000000000"] = ("secondSecret/Key+", "secondToken//==")
        self.secrets += ["secondSecret/Key+", "secondToken//=="]
        given = iter([(self.id, self.key, self.token), ("AKIDSECOND0000000000", "secondSecret/Key+", "secondToken//==")])
        self.service.answers["/keys"] = lambda path, headers, form: (200, keys_as_json(*next(given)))
        self.stub.faults = [
            Fault(status(400, "ExpiredToken"), op="get", where=lambda r: self.id in r.headers.get("authorization", ""), skip=3)
        ]
        env = self.usual | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": self.service.url + "/keys"}
        made, digests, report = self.load("s3://b/m", "--tp", str(TP), env=env)
        self.assertEqual(digests, read_digests(DATA / f"{NAME}.tp{TP}.digest"), made)
        self.assertEqual(len(self.service.asked("/keys")), 2)
        self.stub.faults = [Fault(status(400, "ExpiredToken"), op="get", skip=3)]
        before = len(self.stub.requests("get"))
        self.fails("access", ["expired"], "load", "s3://b/m", env=self.static())
        self.assertLess(len(self.stub.requests("get")) - before, 3 + 12)

    def test_access_that_is_denied_is_not_asked_for_again(self):
        self.stub.faults = [Fault(status(403, "AccessDenied"), op="list")]
        self.fails("access", ["AccessDenied"], "load", "s3://b/m", env=self.static())
        self.assertEqual(len(self.stub.requests("list")), 1)

    def test_the_clock_of_the_store_is_learned(self):
        ahead = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)
        date = ahead.strftime("%a, %d %b %Y %H:%M:%S GMT")
        late = lambda r: r.headers.get("x-amz-date", "") < (ahead - datetime.timedelta(minutes=15)).strftime("%Y%m%dT%H%M%SZ")
        self.stub.faults = [Fault(status(403, "RequestTimeTooSkewed", {"Date": date}), op="any", where=late)]
        self.loads("s3://b/m", self.static())
        self.assertEqual(len([r for r in self.stub.requests("list") if r.status == 403]), 1)

    def test_a_region_by_a_header_of_a_301(self):
        self.stub.region = "eu-test-2"
        wrong = lambda r: "/us-east-1/" in r.headers.get("authorization", "")
        self.stub.faults = [
            Fault(status(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-test-2"}), op="any", where=wrong)
        ]
        self.loads("s3://b/m", self.static())
        self.assertEqual(len([r for r in self.stub.log if r.status == 301]), 1)
        self.stub.faults = [Fault(status(301, "PermanentRedirect"), op="any")]
        self.stub.region = "us-east-1"
        self.fails(["io", "access"], ["301", "region"], "load", "s3://b/m", env=self.static())

    def test_pages_of_a_listing(self):
        for i in range(2100):
            self.stub.put(f"m/extra-{i:04}", b"x")
        self.stub.faults = [Fault(status(503, "SlowDown", {"Retry-After": "0"}), op="list", skip=1, times=1)]
        made, digests, _ = self.load("s3://b/m", "--tp", str(TP), env=self.static())
        self.assertEqual(digests, read_digests(DATA / f"{NAME}.tp{TP}.digest"), made)
        self.assertEqual(len(self.stub.requests("list")), 4)

    def test_anonymous(self):
        self.stub.keys.clear()
        self.loads("s3://b/m", self.usual | {"AWS_NO_SIGN_REQUEST": "true"})
        self.assertFalse([r for r in self.stub.log if any(h.startswith("x-amz-") or h == "authorization" for h in r.headers)])

    def test_requester_pays(self):
        self.loads("s3://b/m", self.static() | {"AWS_REQUEST_PAYER": "requester"})
        self.assertEqual({r.headers.get("x-amz-request-payer") for r in self.stub.log}, {"requester"})

    def test_every_read_is_pinned_and_an_overwrite_is_seen(self):
        self.loads("s3://b/m", self.static())
        self.assertTrue(all("if-match" in r.headers for r in self.stub.requests("get", "safetensors$")))
        self.stub.faults = [Fault(status(412, "PreconditionFailed"), op="get", name="00003", skip=1)]
        self.fails("changed", ["PreconditionFailed", "load again"], "load", "s3://b/m", env=self.static())


if __name__ == "__main__":
    program.main()
