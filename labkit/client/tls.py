"""Whose certificates are trusted, and what to do about a server whose TLS does not work out.

It must not know HTTP, nor how anything is sent.
"""

import os
import re
import ssl
from pathlib import Path

EXPIRED, NOT_YET_VALID, HOST_MISMATCH, IP_MISMATCH = 10, 9, 62, 64
"""X509_V_ERR_...: https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/#error-codes"""
TLS_ALERT = b"\x15\x03"
"""How a server of TLS may answer plain HTTP: https://datatracker.ietf.org/doc/html/rfc8446#section-5.1"""
_WHERE = re.compile(r"^\[[^]]*\] | \(_ssl\.c:\d+\)$")
"""What surrounds the words of OpenSSL: its own name of the error, and a line of Python's source."""


def make_context() -> ssl.SSLContext:
    """Return a context that trusts what this machine does, or SSL_CERT_FILE and SSL_CERT_DIR."""
    return ssl.create_default_context()


def find_tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return the TLS error that an error came of, however deep, None if it was another."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None


def explain(error: ssl.SSLError) -> str:
    """Return in one line what went wrong with TLS, and what to do."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        what = _WHERE.sub("", str(error))
        return f"no TLS could be agreed on ({what}); use http:// if the server speaks plain HTTP"
    found = f"the server's certificate is refused ({error.verify_message.rstrip('.')})"
    if error.verify_code in (HOST_MISMATCH, IP_MISMATCH):
        return f"{found}; use the host name that it is made for"
    if error.verify_code in (EXPIRED, NOT_YET_VALID):
        return f"{found}; renew it, or set this machine's clock"
    file = os.environ.get("SSL_CERT_FILE")
    if file and not Path(file).is_file():
        return f"{found}; SSL_CERT_FILE names no file: {file}"
    return f"{found}; let SSL_CERT_FILE name a PEM file with the certificate of its CA"
