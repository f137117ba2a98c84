#!/usr/bin/env node
// Receives webhooks: WEBHOOK_SECRET=whsec_… node webhook.js PORT. Needs only Node.
const crypto = require("crypto");
const http = require("http");

if (process.argv.length !== 3 || !process.env.WEBHOOK_SECRET) {
  console.error("usage: WEBHOOK_SECRET=whsec_… webhook.js PORT");
  process.exit(1);
}
const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const most = 4 << 20; // bytes of a body; an event has fewer
const seen = new Set(); // in your database, written together with your handling of the event

// Whether the request was signed with the secret within the last five minutes.
function isSigned(headers, body) {
  const sentAt = Number(headers["webhook-timestamp"]);
  if (!(Math.abs(Date.now() / 1000 - sentAt) <= 300)) return false;
  const content = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), body]);
  const wanted = Buffer.from("v1," + crypto.createHmac("sha256", key).update(content).digest("base64"));
  return (headers["webhook-signature"] || "").split(" ").some((text) => {
    const signature = Buffer.from(text);
    return signature.length === wanted.length && crypto.timingSafeEqual(signature, wanted);
  });
}

async function receive(request, response) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > most) return response.writeHead(413).end();
    parts.push(part);
  }
  const body = Buffer.concat(parts); // the raw body: re-encoded JSON would not match the signature
  const signed = isSigned(request.headers, body);
  if (signed && !seen.has(request.headers["webhook-id"])) {
    const event = JSON.parse(body);
    console.log(event.type, event.data.entity_id || ""); // your handling
    seen.add(request.headers["webhook-id"]);
  }
  response.writeHead(signed ? 204 : 401).end();
}

http.createServer((request, response) => {
  receive(request, response).catch(() => response.destroy()); // the sender has gone
}).listen(Number(process.argv[2]), "127.0.0.1");
