#!/usr/bin/env python3
"""Receives webhooks: WEBHOOK_SECRET=whsec_… webhook.py PORT. Needs only Python."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
seen = set()  # in your database, written together with your handling of the event


def is_signed(headers, body):
    """Whether the request was signed with the secret within the last five minutes."""
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > 300:
        return False
    content = f"{headers.get('webhook-id', '')}.{sent_at}.".encode() + body
    wanted = b"v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest())
    signatures = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(wanted, signature) for signature in signatures)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
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
