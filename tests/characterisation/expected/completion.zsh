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
    case "${words[i]}" in --color|--config|--redis|--key-prefix|--partition|--embedded|--data-dir|--keep|--threads|--lanes|--contact|--allow|--listen|--log-level|--channel|--keep|--backfill|--interval-min|--policy|--auth|--user|--state|--host|--user|--limit|--before|--feed|--guid|--feed|--guid|--file|--limit|--age|--bytes|--from|--type|--user|--add|--remove|--limit|--before|--user|--feed|--channel|--words|--remove|--feed|--channel|--type|--name|--at-once|--old-for|--channel|--channel|--channel|--for|--url|--content-type|--header|--html-policy|--days|--host|--feeds|--interval|--feed|--journal|--feed) ((i++)); continue ;; esac
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
    'topic add --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'topic remove --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'topic subscribers --channel') _feedmill_offer < <(_feedmill_channels); return ;;
    'parse --html-policy') _feedmill_offer < <(printf '%s\n' strict classic); return ;;
  esac
  case "${words[CURRENT-1]}" in --config|--data-dir|--file|--journal) _files; return ;;
    --color|--config|--redis|--key-prefix|--partition|--embedded|--data-dir|--keep|--threads|--lanes|--contact|--allow|--listen|--log-level|--channel|--keep|--backfill|--interval-min|--policy|--auth|--user|--state|--host|--user|--limit|--before|--feed|--guid|--feed|--guid|--file|--limit|--age|--bytes|--from|--type|--user|--add|--remove|--limit|--before|--user|--feed|--channel|--words|--remove|--feed|--channel|--type|--name|--at-once|--old-for|--channel|--channel|--channel|--for|--url|--content-type|--header|--html-policy|--days|--host|--feeds|--interval|--feed|--journal|--feed) return ;; esac
  if [[ ${words[CURRENT]} == -* ]]; then
    case "$verb" in
      'add') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--now:Fetch at once and show what came' '--channel:Put them into this channel in the same step, known ones too; it is created where it is not there' '--first:Of a web page with several feeds the first' '--dry-run:Only say what would be added, whether it may be fetched, and what would hold for it; a private server is started for that as for any verb' '--keep:Entries to keep of these feeds (default: retention.entries)' '--backfill:Read older pages too, where they have any, until there are N entries, and keep as many (at most retention.hard_cap)' '--interval-min:Never fetch more often: 15min 24h 7d' '--policy:The [egress.policy] of the configuration that holds for them' '--auth:The [feed_auth] of the configuration that they send') ;;
      'import') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--dry-run:Only say what would be added or removed' '--prune:Then remove the feeds that the list does not name, with their posts' '--yes:Do not ask before --prune' '--user:Folders become channels of this user: USER/FOLDER') ;;
      'run') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--once:Try every feed that is due once, then exit') ;;
      'list') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--state:Only feeds in this state' '--host:Only feeds of this host' '--due:Only feeds that are due') ;;
      'show') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'refresh') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--all:Every feed' '--defer:Only make them due; a running worker fetches them' '--ignore-floor:Even if the last fetch was a moment ago') ;;
      'set') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--dry-run:Only say what would be set') ;;
      'pause') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--dry-run:Only say what would be paused') ;;
      'resume') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--dry-run:Only say what would be resumed') ;;
      'move') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--undo:Request again what was requested before its last move (90 days)') ;;
      'remove') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--yes:Do not ask' '--dry-run:Only say what would be removed') ;;
      'export') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--user:Only what this user'\''s channels hold, as folders') ;;
      'entries') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--limit:At most so many (20)' '--before:Only those after this one in the order: SCORE:ID as the last line tells it') ;;
      'entry') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--feed:Address of its feed' '--guid:What identifies it inside its feed' '--text:Also its whole text without markup, as content_text') ;;
      'entry put') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--feed:Address of its feed' '--guid:What identifies it inside its feed' '--file:JSON objects with the fields, as entry --json prints them; feed_url and guid may stand inside; - for stdin' '--replace:Fields that are not given go') ;;
      'entry remove') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--yes:Do not ask' '--dry-run:Only say what would be removed') ;;
      'expire') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--limit:So many of the newest stay' '--age:Older ones go' '--bytes:So many bytes stay, the newest entry whatever its size' '--yes:Do not ask' '--dry-run:Only say how many would go') ;;
      'tail') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--from:After this stream id; 0: all there are' '--type:Only this type; may be repeated') ;;
      'channel') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'channel list') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--user:Only channels of this user, which are named USER/…') ;;
      'channel add') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'channel remove') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--yes:Do not ask') ;;
      'channel order') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'channel feeds') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--add:Put this feed into it; may be repeated' '--remove:Take this feed out; may be repeated') ;;
      'channel timeline') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--all:Its newest posts, those that were read too' '--once:One post of each story that several feeds tell (signals.same_as)' '--limit:At most so many (20)' '--before:Only those after this one in the order: SCORE:ID as the last line tells it') ;;
      'channel read') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--all:All that is in the timeline now') ;;
      'channel unread') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'channel unread-count') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--user:Only channels of this user, which are named USER/…') ;;
      'notify') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'notify rules') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--feed:Watch this feed; may be repeated' '--channel:Watch this channel; may be repeated' '--words:Watch for posts that hold all these words; may be repeated' '--remove:Drop the rule with this id; may be repeated') ;;
      'notify list') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--unread:Only those not marked read') ;;
      'notify read') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--all:All of them') ;;
      'notify delete') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--all:All of them') ;;
      'webhook') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'webhook add') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--feed:Only events of this feed; may be repeated' '--channel:Only events of feeds in this channel; may be repeated' '--type:Only events of this type; may be repeated' '--initial:Also of the posts that a new feed comes with' '--private:Also of feeds that are not re-published: those with credentials, or a secret URL' '--name:What people call it' '--at-once:Requests under way at a time (default 1, which keeps the order)' '--ed25519:Sign with a key of which the receiver has the public part alone') ;;
      'webhook list') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'webhook show') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'webhook set') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'webhook rotate') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--old-for:How long the old secret signs too (default 24h, at most 30d)') ;;
      'webhook resume') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'webhook remove') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--yes:Do not ask') ;;
      'webhook test') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'topic') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'topic add') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--channel:Of this channel instead') ;;
      'topic list') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'topic remove') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--channel:Of this channel instead' '--yes:Do not ask') ;;
      'topic subscribers') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--channel:Of this channel instead') ;;
      'explain') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'trace') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--ignore-floor:Even if the last fetch was a moment ago' '--live:Do not fetch: show what workers do with this feed, refresh by refresh' '--for:With --live: for so long (10min)') ;;
      'check') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'discover') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'parse') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--url:Where it came from: the base of relative links' '--content-type:Its Content-Type header' '--header:Another response header; may be repeated' '--raw-html:Leave markup as it is' '--html-policy:strict, or classic: what feedparser keeps' '--explain:Say in words what was repaired and which rule decided, in place of the document' '--pipe:Answer JSON requests, a line each, from stdin') ;;
      'plan') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--days:Days to simulate (1)' '--host:Only feeds of this host' '--feeds:So many made-up feeds, or those of an OPML file or list of URLs, in place of the stored ones') ;;
      'doctor') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'health') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--ready:Whether it is ready to work, too') ;;
      'top') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--once:Show it once and end; so it is without a terminal, too' '--interval:Ask anew so often (2s); with --json a line each time') ;;
      'stats') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'notices') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--clear:Delete them all') ;;
      'verify') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--feed:Only this feed; may be repeated' '--repair:Mend what can be mended without guessing; what is replaced is written to a journal first' '--resanitise:Also find posts whose markup today'\''s policy would store otherwise; with --repair store it so, and tell no reader' '--journal:Where to (feedmill-repair-TIME.jsonl here); a new file') ;;
      'where') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'store') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'store export') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--feed:Only this feed; may be repeated') ;;
      'store import') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--dry-run:Only check the file and say what would be brought back' '--replace:Feeds that are there are emptied first, and stay in their channels; else they stay as they are' '--yes:Do not ask before replacing') ;;
      'config') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'config check') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'config show') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--origin:Where each value comes from' '--changed:Only what differs from the default') ;;
      'completion') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name') ;;
      'man') flags=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--markdown:The verbs alone, as docs/CLI.md has them') ;;
    esac
    flags+=('-h:Show help, of a verb after its name' '--help:Show help, of a verb after its name' '--json:JSON on stdout, a line for each object' '-q:Only data and errors' '--quiet:Only data and errors' '-v:Say more' '--verbose:Say more' '--color:auto, always or never' '--version:Versions of feedmill and its libraries' '--config:Configuration file' '--redis:the server: redis://, rediss:// for TLS, redis+sentinel://, redis+cluster://, or unix:; empty: a private one is started (redis.url; empty)' '--key-prefix:goes before every key and channel (redis.key_prefix; empty)' '--partition:which partition of the store is meant, from 0 on; a worker that is told none serves all (redis.partition; empty)' '--embedded:start a private server; auto: when redis.url is empty (redis.embedded; auto)' '--data-dir:where the private server keeps its data (store.data_dir; $STATE_DIRECTORY, else for root /var/lib/feedmill if it is there, else the user'\''s data directory)' '--keep:how many are kept, or what the document lists if that is more (retention.entries; 50)' '--threads:loops that fetch, each with a thread, lanes and connections of its own (worker.threads; 1)' '--lanes:refreshes at once (worker.lanes; 256)' '--no-ingest:Do not fetch feeds (worker.ingest)' '--no-deliver:Do not keep timelines and notices (worker.deliver)' '--push-out:tell webhooks and subscribers of the hub, and serve push_out.listen (worker.push_out)' '--contact:who asks, in the User-Agent; required above 1000 feeds (fetch.contact; empty)' '--allow:addresses opened that are blocked by default (egress.allow; empty)' '--listen:metrics, probes, pings and the status page; off; port 0: any free one, which the log names (admin.listen; 127.0.0.1:9810)' '--log-level:least level that is written (log.level; info)')
    _describe flag flags
    return
  fi
  case "$verb" in
    '')
      verbs=('add:Add feeds' 'import:Add the feeds of an OPML file or of a list of URLs, one a line' 'run:The worker: fetches what is due until it is stopped' 'list:All feeds, one a line' 'show:All that is known of one feed' 'refresh:Fetch feeds now and show what came' 'set:Change what holds for one feed: key=value, key= takes it away' 'pause:Fetch feeds no more until they are resumed' 'resume:Fetch paused feeds again' 'move:Request another URL for a feed; its keys and entries stay' 'remove:Remove feeds with everything stored of them' 'export:Write all feeds as OPML 2.0'); _describe 'Feeds' verbs && none=0
      verbs=('entries:Entries of a feed, newest first' 'entry:One entry' 'expire:Trim a feed now: by number (50 when nothing is said), by age, by bytes' 'tail:Events as they come'); _describe 'Posts' verbs && none=0
      verbs=('channel:Timelines gathered from feeds, for one user or all' 'notify:What users asked to be told of'); _describe 'Users' verbs && none=0
      verbs=('webhook:Who is told of events by signed POSTs' 'topic:What others may read and subscribe to, by addresses nobody can guess'); _describe 'Pushing out' verbs && none=0
      verbs=('explain:Why a feed is due when it is, and all that counts for it' 'trace:Tell every step and decision of a refresh: made here, or by whichever worker' 'check:Fetch an address once, store nothing, and say all there is to say; no Redis' 'discover:The feeds that a web page offers; no Redis' 'parse:Read a feed document and print it as JSON, or explain it; no Redis, no network' 'plan:Simulate the schedule: requests an hour, busiest hosts, hosts whose feeds cannot fit'); _describe 'Why and what if' verbs && none=0
      verbs=('doctor:Check Redis, network, limits and configuration, with a remedy for what is wrong' 'health:Ask the running worker on this machine whether it lives' 'top:Watch the running worker on this machine: rates, lateness, hosts, notices; q quits' 'stats:Figures of all workers and the whole store' 'notices:What operators should know, newest first' 'verify:Check the invariants of the store beside running workers' 'where:Which partition, and which node of a cluster, have a feed or an entry' 'store:The store as a file, and back' 'config:The configuration in force' 'completion:A script that completes verbs and flags: bash, zsh or fish' 'man:The manual page'); _describe 'Operation' verbs && none=0
      ;;
    'entry')
      verbs=('put:Create an entry of a feed, or change fields of it' 'remove:Delete entries; they do not come back while their feeds list them'); _describe 'Posts' verbs && none=0
      ;;
    'channel')
      verbs=('list:All channels in their order' 'add:Create channels' 'remove:Delete channels with their read marks and rules' 'order:Put channels first, in this order; the others keep theirs' 'feeds:The feeds of a channel, and putting feeds into it or out of it' 'timeline:What is unread in a channel, newest first' 'read:Mark entries of a channel read: they leave its timeline' 'unread:Mark entries of a channel unread: they come back' 'unread-count:How many entries are unread, in each channel'); _describe 'Users' verbs && none=0
      ;;
    'notify')
      verbs=('rules:A user'\''s rules: a feed, a channel or words to watch' 'list:A user'\''s notices, newest first' 'read:Mark notices read' 'delete:Delete notices'); _describe 'Users' verbs && none=0
      ;;
    'webhook')
      verbs=('add:Tell an address of events: prints its id, and once what the receiver checks signatures with' 'list:All webhooks, one a line' 'show:All that is known of one webhook, but its secret' 'set:Change a webhook: key=value; what is listed replaces what there was, key= is none' 'rotate:A new secret, printed once; requests are signed with the old one beside it for a while' 'resume:Let a suspended webhook go on where it was' 'remove:Delete a webhook' 'test:Send a webhook a signed sample now, from this machine'); _describe 'Pushing out' verbs && none=0
      ;;
    'topic')
      verbs=('add:Share a feed'\''s or a channel'\''s posts: prints where others find them' 'list:All that is shared, with its addresses' 'remove:Share it no longer: its address ends and its subscribers are denied' 'subscribers:Who has subscribed at the hub, to all that is shared or to one'); _describe 'Pushing out' verbs && none=0
      ;;
    'store')
      verbs=('export:Write the store, or some feeds, as JSON lines beside running workers' 'import:Bring back what store export wrote; again is harmless, and goes on where it stopped'); _describe 'Operation' verbs && none=0
      ;;
    'config')
      verbs=('check:Every problem of the configuration' 'show:Every option'\''s value'); _describe 'Operation' verbs && none=0
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
