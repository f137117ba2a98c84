#!/usr/bin/env node
// Which partition of the store holds a feed, and the prefix of its keys. Needs only Node.
//
//     feedmill list --json | jq -r .url | partition.js 16      (redis.partitions; canonical URLs, one a line)
const readline = require('readline');

function crc16(text) { // XMODEM variant
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

// All feeds of a host are in the same partition.
function partitionOf(feedUrl, partitions) {
  const [, host] = feedUrl.match(/^https?:\/\/(\[[^\]]*\]|[^:/?#]*)/);
  return crc16(host) % partitions;
}

// The part after redis.key_prefix. An unpartitioned store has this prefix only in a cluster.
function keyPrefix(partition, partitions) {
  if (partitions === 1) return '{p000}:';
  for (const endings = ['']; ; endings.shift()) {
    for (const letter of 'abcdefghijklmnopqrstuvwxyz') {
      endings.push(endings[0] + letter);
      const tag = `p${String(partition).padStart(3, '0')}.${endings.at(-1)}`;
      if (Math.floor(crc16(tag) % 16384 * partitions / 16384) === partition) return `{${tag}}:`; // 16384 cluster slots
    }
  }
}

if (require.main === module) {
  const partitions = Number(process.argv[2]);
  if (process.argv.length !== 3 || !(partitions >= 1)) {
    console.error('usage: partition.js PARTITIONS <URLS');
    process.exit(1);
  }
  readline.createInterface({ input: process.stdin }).on('line', (url) => {
    const partition = partitionOf(url, partitions);
    console.log(`${partition} ${keyPrefix(partition, partitions)}`);
  });
}
module.exports = { partitionOf, keyPrefix };
