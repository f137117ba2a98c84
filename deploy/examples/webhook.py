#!/usr/bin/env python3
"""Receives webhooks: WEBHOOK_SECRET=whsec_… webhook.py PORT. Needs only Python."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import time

if len(sys.argv) != 2 or "WEBHOOK_SECRET" not in os.environ:
    sys.exit("usage: WEBHOOK_SECRET=whsec_… webhook.py PORT")
KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
MOST = 4 << 20  # bytes of a body; an event has fewer
seen = set()  # in your database, written together with your handling of the event


def is_signed(headers, body):
    """Whether the request was signed with the secret within the last five minutes."""
    sent_at = headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", sent_at) or abs(time.time() - int(sent_at)) > 300:
        return False
    content = f"{headers.get('webhook-id', '')}.{sent_at}.".encode() + body
    wanted = b"v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest())
    signatures = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(wanted, signature) for signature in signatures)


class Receiver(http.server.BaseHTTPRequestHandler):
    timeout = 30  # seconds for a request to come

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,7}", length) or int(length) > MOST:
            return self.send_error(413 if length else 411)
        body = self.rfile.read(int(length))
        signed = is_signed(self.headers, body)
        if signed and self.headers["webhook-id"] not in seen:
            event = json.loads(body)
            print(event["type"], event["data"].get("entity_id", ""), flush=True)  # your handling
            seen.add(self.headers["webhook-id"])
        self.send_response(204 if signed else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
