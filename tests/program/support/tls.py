"""A stub behind TLS, with an authority of its own."""

import ssl
import subprocess
import tempfile


def behind_tls(stub, folder, *, name="IP:127.0.0.1", version=None):
    """From now on the stub speaks TLS. Returns the file of the authority that signed for `name`."""
    place = tempfile.mkdtemp(dir=folder)
    key, certificate = f"{place}/key.pem", f"{place}/authority.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2"]
    subprocess.run([*command, "-subj", "/CN=stub", "-addext", f"subjectAltName={name}"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if version:
        context.maximum_version = version
        context.minimum_version = version
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    stub.server.socket = context.wrap_socket(stub.server.socket, server_side=True)
    stub.scheme = "https"
    return certificate
