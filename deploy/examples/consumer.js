#!/usr/bin/env node
// Keeps a hash of posts from feedmill's events, through disconnects and crashes: no event is lost or handled twice.
//
//     consumer.js redis://feedmill_consumer:PASSWORD@localhost:6379/0 myapp:posts
//
// It needs redis@4 of npm, or Debian's node-redis. The titles that it keeps are plain text: escape them in a page.
//
// The result is stored in the same Redis as the stream, so handling an event and acknowledging it are one transaction:
// it happens once or not at all. Events delivered earlier and not acknowledged are read first.
const [url, target] = process.argv.slice(2);
if (process.argv.length !== 4 || !/^rediss?:\/\//.test(url)) {
  console.error('usage: consumer.js REDIS_URL KEY');
  process.exit(1);
}
const { createClient } = require('redis');
const stream = 'stream:signals', group = 'example-node', consumer = 'one';

function apply(transaction, event) {
  const { type, entity_id: id, data } = event;
  if (type === 'post_created' || type === 'post_modified') transaction.hSet(target, id, data.title ?? '');
  if (type === 'post_deleted' || type === 'post_trimmed') transaction.hDel(target, id);
  transaction.hIncrBy(`${target}:seen`, event.seq, 1);
}

async function follow(client) {
  await client.xGroupCreate(stream, group, '0', { MKSTREAM: true }).catch((error) => {
    if (!error.message.includes('BUSYGROUP')) throw error;
  });
  for (let begin = '0';;) {
    const answer = await client.xReadGroup(group, consumer, { key: stream, id: begin }, { COUNT: 100, BLOCK: 1000 });
    const messages = answer?.[0].messages ?? [];
    if (begin === '0' && messages.length === 0) begin = '>';
    for (const { id, message } of messages) {
      const transaction = client.multi();
      if (message?.json) apply(transaction, JSON.parse(message.json)); // else it was trimmed before we read it
      await transaction.xAck(stream, group, id).exec();
      console.log(id, message?.type ?? 'trimmed');
    }
  }
}

async function main() {
  for (let wait = 200;; wait = Math.min(2 * wait, 10000)) {
    const client = createClient({ url, socket: { reconnectStrategy: false } });
    client.on('error', () => {}); // reported below
    try {
      await client.connect();
      wait = 200;
      await follow(client);
    } catch (error) {
      console.error('Redis is away:', error.message);
      await client.disconnect().catch(() => {});
      await new Promise((resume) => setTimeout(resume, wait));
    }
  }
}

main();
