#compdef feedmill
# zsh completion of feedmill; made by: feedmill completion zsh
_feedmill_channels() { feedmill channel list 2>/dev/null | sed 's/^ *[0-9]*  *[0-9]*  *//'; }
_feedmill_offer() {
  local -a all=("${(@f)$(cat)}")
  compadd -S '' -- ${(M)all:#*=}
  compadd -- ${all:#*=}
}
_feedmill() {
  local verb=''
  local -i i
  local -i none=1
  local -a verbs flags
  for ((i = 2; i < CURRENT; i++)); do
    case "${words[i]}" in --color|--config|--redis|--key-prefix|--partition|--embedded|--data-dir|--keep|--threads|--lanes|--contact|--allow|--listen|--log-level|--channel|--keep|--backfill|--interval-min|--policy|--auth|--user|--state|--host|--user|--limit|--before|--feed|--guid|--feed|--guid|--file|--limit|--age|--bytes|--from|--type|--user|--add|--remove|--limit|--before|--user|--feed|--channel|--words|--remove|--feed|--channel|--type|--name|--at-once|--signature|--old-for|--channel|--channel|--channel|--for|--url|--content-type|--header|--html-policy|--days|--host|--feeds|--interval|--feed|--journal|--feed) ((i++)); continue ;; esac
    case "$verb ${words[i]}" in
      ' add'|' import'|' run'|' list'|' show'|' refresh'|' set'|' pause'|' resume'|' move'|' remove'|' export'|' entries'|' entry'|' expire'|' tail'|' channel'|' notify'|' webhook'|' topic'|' explain'|' trace'|' check'|' discover'|' parse'|' plan'|' doctor'|' health'|' top'|' stats'|' notices'|' verify'|' where'|' store'|' config'|' completion'|' man') verb="${verb:+$verb }${words[i]}" ;;
      'entry put'|'entry remove') verb="$verb ${words[i]}" ;;
      'channel list'|'channel add'|'channel remove'|'channel order'|'channel feeds'|'channel timeline'|'channel read'|'channel unread'|'channel unread-count') verb="$verb ${words[i]}" ;;
      'notify rules'|'notify list'|'notify read'|'notify delete') verb="$verb ${words[i]}" ;;
      'webhook add'|'webhook list'|'webhook show'|'webhook set'|'webhook rotate'|'webhook resume'|'webhook remove'|'webhook test') verb="$verb ${words[i]}" ;;
      'topic add'|'topic list'|'topic remove'|'topic subscribers') verb="$verb ${words[i]}" ;;
      'store export'|'store import') verb="$verb ${words[i]}" ;;
      'config check'|'config show') verb="$verb ${words[i]}" ;;
    esac
  done
  case "$verb ${words[CURRENT-1]}" in
    *' --color') _feedmill_offer < <(printf '%s\n' auto always never); return ;;
    *' --embedded') _feedmill_offer < <(printf '%s\n' auto true false); return ;;
    *' --log-level') _feedmill_offer < <(printf '%s\n' debug info warn error); return ;;
    'list --state') _feedmill_offer < <(printf '%s\n' new never_read healthy degraded failing blocked gone quarantined paused); return ;;
    'tail --type') _feedmill_offer < <(printf '%s\n' feed_created feed_modified feed_mended feed_moved feed_removed feed_failing feed_recovered feed_gone feed_rekeyed feed_gap feed_paused post_created post_modified post_mended post_deleted post_trimmed post_same_as request_done request_failed); return ;;
    'notify rules --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'webhook add --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'webhook add --type') _feedmill_offer < <(printf '%s\n' post_created post_modified post_deleted post_same_as feed_created feed_modified feed_moved feed_removed feed_failing feed_recovered feed_gone feed_rekeyed feed_gap feed_paused); return ;;
    'webhook add --signature') _feedmill_offer < <(printf '%s\n' v1 v1a); return ;;
    'topic add --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'topic remove --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'topic subscribers --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'parse --html-policy') _feedmill_offer < <(printf '%s\n' strict classic); return ;;
  esac
  case "${words[CURRENT-1]}" in --config|--data-dir|--file|--journal) _files; return ;;
    --color|--config|--redis|--key-prefix|--partition|--embedded|--data-dir|--keep|--threads|--lanes|--contact|--allow|--listen|--log-level|--channel|--keep|--backfill|--interval-min|--policy|--auth|--user|--state|--host|--user|--limit|--before|--feed|--guid|--feed|--guid|--file|--limit|--age|--bytes|--from|--type|--user|--add|--remove|--limit|--before|--user|--feed|--channel|--words|--remove|--feed|--channel|--type|--name|--at-once|--signature|--old-for|--channel|--channel|--channel|--for|--url|--content-type|--header|--html-policy|--days|--host|--feeds|--interval|--feed|--journal|--feed) return ;; esac
  if [[ ${words[CURRENT]} == -* ]]; then
    case "$verb" in
      'add') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--now:Fetch at once and show the result' '--channel:Also add the feeds to this channel, including feeds already stored; the channel is created if it does not exist' '--first:For a web page with several feeds, add the first' '--dry-run:Only show what would be added, whether it may be fetched, and which settings would apply; still starts a private server if needed' '--keep:Entries to keep for each feed (default: retention.entries)' '--backfill:Read older pages, if the feed has any, until there are N entries, and keep that many (at most retention.hard_cap)' '--interval-min:Never fetch more often: 15min 24h 7d' '--policy:The [egress.policy] of the configuration to apply' '--auth:The [feed_auth] of the configuration to send') ;;
      'import') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--dry-run:Only show what would be added or removed' '--prune:Then remove feeds that are not in the list, with their posts' '--yes:Do not ask before pruning' '--user:Folders become channels of this user: USER/FOLDER') ;;
      'run') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--once:Try every due feed once, then exit') ;;
      'list') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--state:Only feeds in this state' '--host:Only feeds of this host' '--due:Only due feeds') ;;
      'show') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'refresh') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--all:Every feed' '--defer:Only make them due; a running worker fetches them' '--ignore-floor:Even if the last fetch was very recent') ;;
      'set') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--dry-run:Only show what would be set') ;;
      'pause') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--dry-run:Only show what would be paused') ;;
      'resume') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--dry-run:Only show what would be resumed') ;;
      'move') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--undo:Fetch again from the URL before the last move (90 days)') ;;
      'remove') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--yes:Do not ask' '--dry-run:Only show what would be removed') ;;
      'export') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--user:Only feeds in this user'\''s channels, as folders') ;;
      'entries') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--limit:At most N (20)' '--before:Only entries after this one in the order: SCORE:ID as printed on the last line') ;;
      'entry') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--feed:Address of its feed' '--guid:Its identifier within its feed' '--text:Also its whole text without markup, as content_text') ;;
      'entry put') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--feed:Address of its feed' '--guid:What identifies it inside its feed' '--file:JSON objects with the fields, as printed by entry --json; they may include feed_url and guid; - for stdin' '--replace:Remove fields that are not given') ;;
      'entry remove') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--yes:Do not ask' '--dry-run:Only show what would be removed') ;;
      'expire') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--limit:Keep the N newest' '--age:Delete older entries' '--bytes:Keep this many bytes; the newest entry stays whatever its size' '--yes:Do not ask' '--dry-run:Only show how many would be deleted') ;;
      'tail') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--from:After this stream id; 0: from the beginning' '--type:Only this type; may be repeated') ;;
      'channel') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'channel list') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--user:Only channels of this user, named USER/…') ;;
      'channel add') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'channel remove') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--yes:Do not ask') ;;
      'channel order') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'channel feeds') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--add:Add this feed; may be repeated' '--remove:Remove this feed; may be repeated') ;;
      'channel timeline') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--all:Include posts that were read' '--once:Only one post per story reported by several feeds (signals.same_as)' '--limit:At most N (20)' '--before:Only entries after this one in the order: SCORE:ID as printed on the last line') ;;
      'channel read') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--all:All entries in the timeline now') ;;
      'channel unread') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'channel unread-count') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--user:Only channels of this user, named USER/…') ;;
      'notify') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'notify rules') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--feed:Watch this feed; may be repeated' '--channel:Watch this channel; may be repeated' '--words:Watch for posts that contain all these words; may be repeated' '--remove:Remove the rule with this id; may be repeated') ;;
      'notify list') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--unread:Only unread notices') ;;
      'notify read') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--all:All of them') ;;
      'notify delete') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--all:All of them') ;;
      'webhook') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'webhook add') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--feed:Only events of this feed; may be repeated' '--channel:Only events of feeds in this channel; may be repeated' '--type:Only events of this type; may be repeated' '--initial:Also send the posts that a new feed starts with' '--private:Also events of feeds that are not re-published: those with credentials or a secret URL' '--name:Display name' '--at-once:Concurrent requests (default 1, which keeps the order)' '--signature:v1: HMAC-SHA256 with a shared secret (default); v1a: ed25519, where the receiver gets only the public key') ;;
      'webhook list') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'webhook show') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'webhook set') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'webhook rotate') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--old-for:How long the old secret also signs (default 24h, at most 30d)') ;;
      'webhook resume') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'webhook remove') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--yes:Do not ask') ;;
      'webhook test') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'topic') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'topic add') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--channel:This channel instead') ;;
      'topic list') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'topic remove') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--channel:This channel instead' '--yes:Do not ask') ;;
      'topic subscribers') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--channel:This channel instead') ;;
      'explain') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'trace') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--ignore-floor:Even if the last fetch was very recent' '--live:Do not fetch: show what workers do with this feed, refresh by refresh' '--for:With --live: how long to follow (10min)') ;;
      'check') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'discover') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'parse') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--url:URL it was fetched from; relative links are resolved against it' '--content-type:Its Content-Type header' '--header:Another response header; may be repeated' '--raw-html:Leave markup unchanged' '--html-policy:strict (default); classic: as feedparser sanitises, only to compare parsers' '--explain:Explain repairs and decisions in words instead of printing the document' '--pipe:Answer JSON requests from stdin, one per line') ;;
      'plan') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--days:Days to simulate (1)' '--host:Only feeds of this host' '--feeds:Instead of the stored feeds: N made-up feeds, or those of an OPML file or list of URLs') ;;
      'doctor') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'health') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--ready:Also check whether it is ready to work') ;;
      'top') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--once:Print once and exit (default without a terminal)' '--interval:Refresh interval (2s); with --json, one line each') ;;
      'stats') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'notices') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--clear:Delete them all') ;;
      'verify') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--feed:Only this feed; may be repeated' '--repair:Repair what can be repaired without guessing; replaced values are written to a journal first' '--resanitise:Also find posts with markup that today'\''s policy would store differently; with --repair, store them that way without publishing events' '--journal:Journal file to create (default: feedmill-repair-TIME.jsonl here)') ;;
      'where') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'store') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'store export') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--feed:Only this feed; may be repeated') ;;
      'store import') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--dry-run:Only check the file and show what would be restored' '--replace:Empty known feeds first; they stay in their channels (default: known feeds are left unchanged)' '--yes:Do not ask before replacing') ;;
      'config') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'config check') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'config show') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--origin:Also show where each value comes from' '--changed:Only values that differ from the default') ;;
      'completion') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb') ;;
      'man') flags=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--markdown:Only the verbs, as in docs/CLI.md') ;;
    esac
    flags+=('-h:Show help; after a verb, help for that verb' '--help:Show help; after a verb, help for that verb' '--json:JSON on stdout, one object per line' '-q:Print only data and errors' '--quiet:Print only data and errors' '-v:Print more detail' '--verbose:Print more detail' '--color:auto, always or never' '--version:Versions of feedmill and its libraries' '--config:Configuration file' '--redis:the server: redis://, rediss:// for TLS, redis+sentinel://, redis+cluster://, or unix:; empty: start a private server (redis.url; empty)' '--key-prefix:prefix of every key and channel (redis.key_prefix; empty)' '--partition:partition to use, from 0; a worker without it serves all (redis.partition; empty)' '--embedded:start a private server; auto: when redis.url is empty (redis.embedded; auto)' '--data-dir:where the private server keeps its data (store.data_dir; $STATE_DIRECTORY, else for root /var/lib/feedmill if it exists, else the user'\''s data directory)' '--keep:entries to keep, or as many as the document lists if more (retention.entries; 50)' '--threads:fetch loops, each with its own thread, lanes and connections (worker.threads; 1)' '--lanes:concurrent refreshes (worker.lanes; 256)' '--no-ingest:Do not fetch feeds (worker.ingest)' '--no-deliver:Do not maintain timelines and notices (worker.deliver)' '--push-out:deliver to webhooks and hub subscribers; listen on push_out.listen (worker.push_out)' '--contact:contact URL in the User-Agent; required above 1000 feeds (fetch.contact; empty)' '--allow:addresses to allow although blocked by default (egress.allow; empty)' '--listen:metrics, probes, pings and the status page; off; port 0: any free port, which is logged (admin.listen; 127.0.0.1:9810)' '--log-level:minimum level to log (log.level; info)')
    _describe flag flags
    return
  fi
  case "$verb" in
    '')
      verbs=('add:Add feeds' 'import:Add feeds from an OPML file or a list of URLs, one per line' 'run:Run the worker: fetch due feeds until stopped' 'list:List all feeds, one per line' 'show:Show everything stored about one feed' 'refresh:Fetch feeds now and show the result' 'set:Change settings of one feed: key=value; key= removes a setting' 'pause:Stop fetching feeds until resumed' 'resume:Fetch paused feeds again' 'move:Fetch a feed from another URL; its keys and entries stay' 'remove:Remove feeds and everything stored for them' 'export:Write all feeds as OPML 2.0'); _describe 'Feeds' verbs && none=0
      verbs=('entries:Entries of a feed, newest first' 'entry:One entry' 'expire:Trim a feed now: by number (default: 50), by age, by bytes' 'tail:Print events as they arrive'); _describe 'Posts' verbs && none=0
      verbs=('channel:Timelines gathered from feeds, for one user or all' 'notify:Notices for users'); _describe 'Users' verbs && none=0
      verbs=('webhook:Send events to webhooks as signed POSTs' 'topic:Share feeds and channels at unguessable URLs'); _describe 'Pushing out' verbs && none=0
      verbs=('explain:Explain why a feed is due when it is, with all inputs' 'trace:Trace a refresh step by step, run here or by any worker' 'check:Fetch a URL once, store nothing, and report all findings; no Redis' 'discover:List the feeds that a web page offers; no Redis' 'parse:Read a feed document and print it as JSON, or explain it; no Redis, no network' 'plan:Simulate the schedule: requests per hour, busiest hosts, hosts with more feeds than fit'); _describe 'Why and what if' verbs && none=0
      verbs=('doctor:Check Redis, network, limits and configuration, and suggest fixes' 'health:Check whether the running worker on this machine is alive' 'top:Watch the running worker on this machine: rates, lateness, hosts, notices; q quits' 'stats:Figures of all workers and the whole store' 'notices:Notices for operators, newest first' 'verify:Check the invariants of the store while workers run' 'where:Show the partition, and the cluster node, of a feed or an entry' 'store:Export and import the store' 'config:The configuration in force' 'completion:Print a completion script for verbs and flags: bash, zsh or fish' 'man:The manual page'); _describe 'Operation' verbs && none=0
      ;;
    'entry')
      verbs=('put:Create an entry of a feed, or change its fields' 'remove:Delete entries; they do not come back while their feeds list them'); _describe 'Posts' verbs && none=0
      ;;
    'channel')
      verbs=('list:List all channels in order' 'add:Create channels' 'remove:Delete channels with their read marks and rules' 'order:Put channels first, in this order; the others keep their order' 'feeds:Show the feeds of a channel; add or remove feeds' 'timeline:Show unread posts of a channel, newest first' 'read:Mark entries of a channel read: they leave its timeline' 'unread:Mark entries of a channel unread: they come back' 'unread-count:Count the unread entries of each channel'); _describe 'Users' verbs && none=0
      ;;
    'notify')
      verbs=('rules:A user'\''s rules: a feed, a channel or words to watch' 'list:A user'\''s notices, newest first' 'read:Mark notices read' 'delete:Delete notices'); _describe 'Users' verbs && none=0
      ;;
    'webhook')
      verbs=('add:Register a webhook; prints its id and, once, its signing secret' 'list:List all webhooks, one per line' 'show:Show everything about one webhook except its secret' 'set:Change a webhook: key=value; values given for a key replace all its old ones, key= clears a list or the name' 'rotate:Create a new secret, printed once; the old one also signs for a while' 'resume:Resume a suspended webhook where it stopped' 'remove:Delete a webhook' 'test:Send a signed sample to a webhook now, from this machine'); _describe 'Pushing out' verbs && none=0
      ;;
    'topic')
      verbs=('add:Share a feed'\''s or a channel'\''s posts; prints their URLs' 'list:List all shared topics with their URLs' 'remove:Stop sharing: the URL stops working, subscriptions are denied' 'subscribers:List hub subscribers of all topics or of one'); _describe 'Pushing out' verbs && none=0
      ;;
    'store')
      verbs=('export:Write the store, or some feeds, as JSON lines while workers run' 'import:Restore a store export; safe to repeat; continues where it stopped'); _describe 'Operation' verbs && none=0
      ;;
    'config')
      verbs=('check:Report every problem in the configuration' 'show:Show the value of every option'); _describe 'Operation' verbs && none=0
      ;;
    *)
  case "$verb" in
    'set') _feedmill_offer < <(printf '%s\n' keep= keep_age= keep_bytes= backfill= interval_min= interval_max= html_policy= auth= policy= proxy= user_agent= http_version= republish= websub= hub= topic= ca_file= pin= subscribers=); return ;;
    'entry put') _feedmill_offer < <(printf '%s\n' author= authors= categories= comments= content= content_type= date_published= date_updated= enclosures= language= link= summary= summary_type= title= title_type=); return ;;
    'channel add') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel remove') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel order') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel feeds') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel timeline') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel read') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel unread') _feedmill_offer < <(_feedmill_channels); return ;;
    'channel unread-count') _feedmill_offer < <(_feedmill_channels); return ;;
    'webhook set') _feedmill_offer < <(printf '%s\n' url= name= feed= channel= type= initial= private= at_once=); return ;;
    'completion') _feedmill_offer < <(printf '%s\n' bash zsh fish); return ;;
  esac
      _files && none=0 ;;
  esac
  return none
}
_feedmill "$@"
