#!/usr/bin/env node
// A web backend: users subscribe to feeds, read new posts, and unsubscribe. It needs only a Redis client.
//
//     backend.js redis://feedmill_app:PASSWORD@localhost:6379/0 8080      (npm install redis@4, or Debian's node-redis)
//
//     curl -X PUT 'http://localhost:8080/anna?url=https://example.org/feed.xml'       anna subscribes
//     curl http://localhost:8080/anna                                                 her feeds, and her newest posts
//     curl -X DELETE 'http://localhost:8080/anna?url=https://example.org/feed.xml'    she unsubscribes
//
// The application's own data and its request to feedmill are one transaction. So are a request's outcome and the
// position up to which events have been read. Whatever is killed, and whenever: each request is executed once, and its
// answer recorded. A feed that cannot be read is shown as such: the user may have mistyped its address.
const { createClient } = require('redis');
const { randomUUID } = require('crypto');
const http = require('http');

const [redisUrl, port] = process.argv.slice(2);
if (process.argv.length !== 4 || !/^rediss?:\/\//.test(redisUrl)) {
  console.error('usage: backend.js REDIS_URL PORT');
  process.exit(1);
}
const app = 'myapp', pause = () => new Promise((resume) => setTimeout(resume, 200));

async function ask(store, user, url, op) {
  const ref = randomUUID();
  const both = () => store.multi()
    .hSet(`${app}:feeds:${user}`, url, op === 'add' ? 'asked' : 'leaving')
    .hSet(`${app}:asked`, ref, JSON.stringify([user, url]))
    .xAdd('stream:requests', '*', { op, url, channel: `${user}/news`, app, ref })
    .exec();
  for (let tries = 1; ; tries++) { // the reply may get lost: with the same ref, the request is still executed once
    try {
      return await both();
    } catch (error) {
      if (tries === 10) throw error;
      await pause();
    }
  }
}

// Records the outcome of one of our requests.
function note(both, asked, { type, ref, feed_url: feed, data }) {
  const [user, url] = JSON.parse(asked), row = `${app}:feeds:${user}`;
  if (data.op === 'channel_unfollow') both.hDel(row, [url, feed ?? url]);
  else if (type === 'request_done') both.hDel(row, url).hSet(row, feed, 'subscribed'); // its canonical address
  else both.hSet(row, url, `refused: ${data.reason}`);
  both.hDel(`${app}:asked`, ref);
}

// Records why a feed cannot be read, until it can be again.
function noteFeed(both, { type, feed_url: feed, data: { first, state, reason } }) {
  if (['feed_created', 'feed_recovered', 'feed_removed'].includes(type)) both.hDel(`${app}:failing`, feed);
  if (['feed_failing', 'feed_gone'].includes(type))
    both.hSet(`${app}:failing`, feed, `${first ? 'never read, is the address right?' : state} (${reason})`);
}

async function follow(store, reader) {
  for (let seen = (await store.get(`${app}:seen`)) ?? '0-0'; ;) {
    const answer = await reader.xRead({ key: 'stream:signals', id: seen }, { COUNT: 1000, BLOCK: 1000 });
    if (!answer) continue;
    const both = store.multi();
    for (const { id, message } of answer[0].messages) {
      seen = id;
      const event = JSON.parse(message.json);
      if (message.type.startsWith('feed_')) noteFeed(both, event);
      if (!message.type.startsWith('request_')) continue;
      const asked = event.app === app && event.ref && await store.hGet(`${app}:asked`, event.ref);
      if (asked) note(both, asked, event);
    }
    await both.set(`${app}:seen`, seen).exec();
  }
}

// Posts come from strangers: escapes what is not HTML, or was not sanitised.
function asHtml(text, type, sanVer) {
  if (!text || (['text/html', 'application/xhtml+xml'].includes(type) && sanVer !== '0')) return text;
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt()};`);
}

async function page(store, user) {
  const feeds = await store.hGetAll(`${app}:feeds:${user}`), urls = Object.keys(feeds);
  const failing = urls.length ? await store.hmGet(`${app}:failing`, urls) : [];
  urls.forEach((url, i) => { if (failing[i] && feeds[url] === 'subscribed') feeds[url] = failing[i]; });
  const entries = await store.zRange(`zchannel:${user}/news:posts`, 0, 19, { REV: true });
  const posts = await Promise.all(entries.map(async (entry) => {
    const [title, type, sanVer, link] = await store.hmGet(entry, ['title', 'title_type', 'san_ver', 'link']);
    return { title_html: asHtml(title, type, sanVer), link };
  }));
  return { feeds, posts };
}

async function answer(store, request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const user = pathname.slice(1), url = searchParams.get('url');
  const op = { PUT: 'add', DELETE: 'channel_unfollow' }[request.method];
  const say = (status, value) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  if (!/^[a-z0-9]{1,50}$/.test(user) || (op ? !url : request.method !== 'GET')) return say(400, {});
  try {
    if (!op) return say(200, await page(store, user));
    await ask(store, user, url, op);
    say(202, {});
  } catch (error) {
    say(503, { error: error.message });
  }
}

async function main() {
  const store = createClient({ url: redisUrl }), reader = store.duplicate(); // XREAD keeps a connection waiting
  for (const client of [store, reader]) client.on('error', () => {}); // it reconnects; pending commands fail
  await Promise.all([store.connect(), reader.connect()]);
  http.createServer((request, response) => answer(store, request, response)).listen(port, '127.0.0.1');
  for (;;) {
    // A client that lost its server while connecting may have given up.
    for (const client of [store, reader]) if (!client.isOpen) await client.connect().catch(() => {});
    await follow(store, reader).catch((error) => console.error('Redis is away:', error.message));
    await pause();
  }
}

main();
