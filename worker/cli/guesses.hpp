// Words and flags that people know from other programs and type instead of ours (OPERATIONS §1). They are answered with
// the right name and never run.
#pragma once

#include <string_view>

namespace feedmill {

/// Words typed instead of a verb.
struct VerbGuesses {
  std::string_view verb;   ///< "remove", "store import", a heading such as "channel"; "" = a feed, the usual object
  std::string_view words;  ///< separated by spaces; of a verb below a heading: after that heading
  std::string_view anywhere{};  ///< of a verb below a heading: words that also lead to it without the heading
};

/// Flags typed instead of a flag or an argument; apply to every verb that has `name`.
struct FlagGuesses {
  std::string_view name;   ///< "--limit", or an argument such as "FILE"
  std::string_view flags;  ///< separated by spaces
};

/// Words or flags that no single name of ours replaces, and the answer.
struct AnsweredGuesses {
  std::string_view verb;  ///< where they are typed: a verb or a heading; "" = without one
  /// Separated by spaces; as arguments also "title=" for NAME=VALUE, and kinds of values: URL, ID, CHANNEL, FILE, WORD.
  std::string_view words;
  std::string_view answer;  ///< follows "unknown verb "stop": "
};

inline constexpr VerbGuesses verb_guesses[] = {
    {"", "feed feeds subscription subscriptions"},
    // Feeds
    {"add", "create new subscribe install insert follow register"},
    {"import", "load opml"},
    {"run", "start serve server daemon worker up launch begin boot exec"},
    {"list", "ls ps get find search feed feeds subscription subscriptions"},
    {"show", "get info inspect describe view cat display details detail status feed"},
    {"refresh", "fetch update poll pull sync crawl force download"},
    {"set", "edit update change configure modify patch tune settings"},
    {"pause", "disable suspend mute freeze mask hold"},
    {"resume", "enable unpause unmute unmask continue unfreeze"},
    {"move", "mv redirect relocate url"},
    {"remove", "rm delete del uninstall drop purge erase"},
    {"export", "opml"},
    {"login", "logins auth credential credentials password secret"},
    // Posts
    {"entries", "posts post items articles news history"},
    {"entry", "entries post posts item items article articles get"},
    {"entry put", "add create edit update set change write"},
    {"expire", "trim prune"},
    {"tail", "events event follow watch monitor stream listen"},
    // Users
    {"channel", "channels category categories folder folders tag tags group groups label labels"},
    {"channel order", "sort move reorder"},
    {"channel feeds", "show edit set update change"},
    {"channel timeline", "show posts entries items", "inbox timelines unread"},
    {"channel read", "mark clear", "mark mark-read"},
    {"channel unread", "", "mark-unread"},
    {"channel unread-count", "count counts counters", "count counts counters unread"},
    {"notify", "notification notifications"},
    {"notify rules", "rule add create watch", "rule"},
    // Pushing out
    {"webhook", "webhooks hook hooks callback callbacks"},
    {"webhook show", "deliveries logs log history errors queue"},
    {"webhook set", "filter events types rename"},
    {"webhook resume", "retry redeliver resend restart start reactivate"},
    {"webhook rotate", "renew regenerate secret"},
    {"webhook test", "ping try send"},
    {"topic", "topics hub"},
    {"topic add", "share publish rename title edit set update", "share publish republish"},
    {"topic list", "show get info url urls status"},
    {"topic remove", "unshare unpublish revoke disable pause stop", "unshare unpublish"},
    {"topic subscribers", "subscriber subscriptions followers readers", "subscriber followers"},
    // Why and what if
    {"explain", "why reason schedule next"},
    {"trace", "debug"},
    {"check", "test validate lint probe try"},
    {"discover", "detect autodiscover scan lookup"},
    {"parse", "convert decode"},
    {"plan", "simulate schedule forecast estimate"},
    // Operation
    {"doctor", "diagnose diagnostics troubleshoot diag"},
    {"health", "ping healthcheck healthz ready readyz alive is-active"},
    {"top", "watch monitor dashboard status htop ps"},
    {"stats", "status stat statistics figures info ps workers summary"},
    {"notices", "alerts alert warnings errors problems failures"},
    {"verify", "fsck repair fix integrity"},
    {"where", "locate which partition"},
    {"store", "database db"},
    {"store export", "backup dump save snapshot", "backup dump save snapshot"},
    {"store import", "restore load", "restore"},
    {"config", "configuration settings conf cfg options"},
    {"config check", "test validate lint verify", "validate"},
    {"config show", "get list ls view dump print cat", "env"},
    {"completion", "completions autocomplete"},
    {"man", "manual docs"},
    {"help", "usage h"},
    {"version", "ver about"},
};

inline constexpr FlagGuesses flag_guesses[] = {
    // Of every verb
    {"--json", "--format --output --output-format -o -j --out"},
    {"--quiet", "--silent -s"},
    {"--verbose", "--debug -d --trace"},
    {"--color", "--colour --colors --no-color --no-colour"},
    {"--config", "-c -f --conf --config-file --configuration --cfg --config-path"},
    {"--redis",
     "--redis-url --redis-uri --redis-host --redis-addr --url --uri --server -u -H "
     "--database --database-url --db --dsn"},
    {"--key-prefix", "--prefix --redis-prefix --namespace"},
    {"--partition", "--shard"},
    {"--data-dir", "--data --datadir --dir --data-path -D"},
    {"--keep", "--retention --max-entries --keep-entries"},
    {"--threads", "--workers --cpus --cores --parallel --processes -j -w -t"},
    {"--lanes", "--workers --concurrency --parallel --max-concurrency --jobs --connections"},
    {"--push-out", "--push --webhooks --hub"},
    {"--contact", "--user-agent --email"},
    {"--allow", "--allow-private --allow-local --allow-localhost --insecure"},
    {"--listen",
     "--port -p --bind --host --address --addr --http --http-port --listen-addr --listen-address "
     "--metrics-port"},
    {"--log-level", "--loglevel --level --debug --trace"},
    // Of several verbs
    {"--yes", "-y --force -f --assume-yes --no-confirm --confirm --no-prompt --non-interactive"},
    {"--dry-run", "-n --dry --dryrun --simulate --preview --check --test --what-if"},
    {"--limit", "-n --max --count --lines --number --num --head --page-size --per-page --max-count --last"},
    {"--columns", "--fields --field --column --cols --select -C"},
    {"--header", "--headers --heading --with-header --head"},
    {"--before", "--offset --after --cursor --page --from --until --older"},
    {"--all", "-a -A --every --everything"},
    {"--type", "--types --event --events --event-type --kind --filter -t"},
    {"--user", "-u --username --owner --for --channel"},
    {"--channel",
     "--user --tag --tags --category --categories --category-id --folder --folders --group "
     "--label --channels -t"},
    {"--once", "--oneshot --one-shot --single --batch -b -1"},
    {"--unread", "--new --unseen"},
    // Of single verbs
    {"--now", "--fetch --refresh --immediately --wait"},
    {"--interval-min", "--interval --every --refresh-interval --poll-interval --ttl --schedule"},
    {"--backfill", "--history --archive --initial"},
    {"--auth", "--username --password --login --credentials --basic-auth"},
    {"--state", "--status --filter --failing --failed --errors --broken --paused"},
    {"--host", "--domain --site --server"},
    {"--ignore-floor", "--force -f --no-cache --hard"},
    {"--defer", "--async --background --no-wait --detach -d --queue"},
    {"--undo", "--revert --rollback"},
    {"--guid", "--id"},
    {"--feed", "--url --feeds"},
    {"--text", "--content --plain --full"},
    {"--age", "--older-than --older --days --max-age --since"},
    {"--words", "--word --keyword --keywords --search --query"},
    {"--at-once", "--concurrency --parallel"},
    {"--name", "--title --label"},
    {"--title", "--name --label"},
    {"--ready", "--readiness --readyz"},
    {"--interval", "-n -d --delay --every --refresh"},
    {"--repair", "--fix"},
    {"--clear", "--delete --remove"},
    {"--prune", "--sync --mirror --delete"},
    {"--origin", "--source --show-origin"},
    {"--changed", "--diff --modified --non-default"},
    {"--live", "--follow -f"},
    {"--markdown", "--md"},
    {"--raw-html", "--raw --unsafe"},
    {"--file", "-f -i --input --from-file"},
    // Arguments
    {"FILE", "--opml --file --input --from --path -f -i"},
    {"URL", "--url --feed --feed-url --uri -u"},
    {"ID", "--id"},
    {"CHANNEL", "--channel --name --category"},
    {"USER", "--user --username -u"},
    {"SHELL", "--shell"},
};

inline constexpr std::string_view in_the_foreground =
    "feedmill run stays in the foreground; let systemd start it, or the shell: feedmill run &";

inline constexpr AnsweredGuesses answered_guesses[] = {
    {"", "stop halt shutdown kill quit exit end",
     "a worker stops at Ctrl-C, SIGTERM or systemctl stop feedmill; to stop fetching feeds, use feedmill pause URL..."},
    {"", "restart",
     "stop the worker (Ctrl-C) and use feedmill run again, or systemctl restart feedmill; for most options, SIGHUP "
     "reloads the configuration without a restart"},
    {"", "reload apply",
     "a worker reloads its configuration at SIGHUP (systemctl reload feedmill); to fetch feeds again, use feedmill "
     "refresh [URL...]"},
    {"", "logs log journal",
     "a worker logs to stderr (journalctl -u feedmill); to print events, use feedmill tail; to list notices for "
     "operators, use feedmill notices"},
    {"", "init setup",
     "there is nothing to set up: use feedmill add URL..., then feedmill run; the options are in feedmill config show"},
    {"", "purge",
     "to delete old posts of a feed, use feedmill expire URL; to remove feeds and everything stored for them, use "
     "feedmill remove URL..."},
    {"", "clear reset flush wipe",
     "to fetch a feed now, use feedmill refresh URL; to delete the notices for operators, use feedmill notices "
     "--clear; no verb empties the store"},
    {"", "gc clean cleanup vacuum",
     "each refresh trims its feed (retention.entries, retention.age); to trim a feed now, use feedmill expire URL"},
    {"", "read",
     "to list the posts of a feed, use feedmill entries URL; to mark entries read, use feedmill channel read CHANNEL "
     "ID...; to mark notices read, use feedmill notify read USER ID..."},
    {"", "search find grep query",
     "stored posts are not indexed by their words; to list feeds, use feedmill list; to list the feeds of a web page, "
     "use feedmill discover URL; to be notified of "
     "new posts with certain words, use feedmill notify rules USER --words WORDS"},
    {"", "subscribe", "use feedmill add URL...; for a user, feedmill add URL... --channel USER/NAME"},
    {"", "failed failing broken", "use feedmill list --state failing"},
    {"", "queue due", "use feedmill list --due, or feedmill plan"},
    {"", "undo revert rollback", "to undo a move, use feedmill move URL --undo"},
    {"", "sanitise sanitize resanitise resanitize", "use feedmill verify --resanitise"},
    {"", "upgrade migrate",
     "install the new version and restart the workers: the first one migrates the store; to copy a store to another "
     "Redis, use feedmill store export and feedmill store import"},
    {"", "metrics prometheus",
     "a worker serves metrics for Prometheus at /metrics of admin.listen; for people, use feedmill stats"},
    {"", "redis-cli redis",
     "use redis-cli with redis.url, which feedmill config show names; the socket of a private server is in server.json "
     "in store.data_dir"},
    {"", "URL", "for one feed, use feedmill show URL, feedmill entries URL or feedmill explain URL"},
    {"", "ID", "for one post, use feedmill entry ID"},
    {"", "CHANNEL", "expected no channel; the verbs for channels are in feedmill channel -h"},
    {"", "FILE", "to add the feeds of a list, use feedmill import FILE"},
    {"", "star stars starred bookmark bookmarks favorite favourite",
     "feedmill keeps read marks only; keep the ids of chosen posts in a store of your own"},
    {"", "users user admin account accounts whoami",
     "users have no accounts; they are the first part of their channels' names: use feedmill channel list --user USER, "
     "and feedmill channel "
     "add USER/NAME"},
    {"", "token tokens api-token api-key api-keys apikey key keys",
     "a token of the API is a row [api.token.\"NAME\"] of the configuration, or FEEDMILL_API_TOKEN_NAME; feedmill "
     "config show lists them"},
    {"", "-d --daemon --daemonize --detach --background", in_the_foreground},
    {"run", "-d --daemon --daemonize --detach --background -D", in_the_foreground},
    {"", "unsubscribe unfollow",
     "to take a feed out of a channel, use feedmill channel feeds CHANNEL --remove URL; to remove it for all users, "
     "use feedmill remove URL..."},
    {"", "rename title retitle",
     "a feed has its publisher's title; to give it another one in a channel, use feedmill add URL --channel CHANNEL "
     "--title TEXT; to fetch it from another URL, use feedmill move URL NEW"},
    {"channel", "follow subscribe", "use feedmill channel feeds CHANNEL --add URL"},
    {"channel", "unfollow unsubscribe", "use feedmill channel feeds CHANNEL --remove URL"},
    {"channel", "rename mv copy clone merge",
     "a channel keeps its name: use feedmill channel add NEW, and feedmill channel feeds NEW --add URL for the feeds "
     "that feedmill channel feeds OLD lists"},
    {"channel", "title retitle",
     "to give a feed another title in a channel, use feedmill add URL --channel CHANNEL --title TEXT; to share the "
     "channel under a title, use feedmill topic add --channel CHANNEL --title TEXT"},
    {"channel", "users user members owner",
     "a user's own channels are USER/NAME: use feedmill channel list --user USER"},
    {"channel", "share publish", "use feedmill topic add --channel CHANNEL"},
    {"channel", "refresh fetch poll",
     "use feedmill refresh URL... for the feeds that feedmill channel feeds CHANNEL lists"},
    {"channel", "watch notify alert", "use feedmill notify rules USER --channel CHANNEL"},
    {"webhook", "disable pause stop suspend mute",
     "a webhook cannot be paused: to receive less, use feedmill webhook set ID; to end it, use feedmill webhook remove "
     "ID"},
    {"topic", "rotate renew regenerate reset",
     "use feedmill topic remove, then feedmill topic add: it gets another address"},
    {"entry", "show get view cat display", "use feedmill entry ID; for the posts of a feed, use feedmill entries URL"},
    {"entry", "list ls find search", "use feedmill entries URL for the entries of a feed"},
    {"entry", "read unread mark mark-read seen",
     "use feedmill channel read CHANNEL ID, or feedmill channel unread CHANNEL ID"},
    {"entry", "text content body", "use feedmill entry ID --text"},
    {"config", "feed", "use feedmill show URL; to change them, feedmill set URL NAME=VALUE"},
    {"list", "--all -a -A", "feedmill list lists all feeds"},
    {"list", "WORD",
     "to list some feeds, use --state STATE or --host HOST; to list the channels of a user, use feedmill channel list "
     "--user USER"},
    {"list", "--search --grep --since",
     "to list some feeds, use --state STATE or --host HOST; else search the output with grep"},
    {"list", "--unread", "use feedmill channel unread-count for the unread posts of channels"},
    {"list", "CHANNEL --user --channel --category --folder --tag --group",
     "use feedmill channel feeds CHANNEL for the feeds of a channel"},
    {"list", "--sort --order --sort-by --reverse -r",
     "feeds are listed in the order of their URLs; sort the output with sort, or jq and --json"},
    {"entries", "--since --newer-than --from",
     "the newest are listed first: use --limit N, and --before SCORE:ID for older ones"},
    {"entries", "CHANNEL --unread --channel --user --category",
     "use feedmill channel timeline CHANNEL for the posts of a channel"},
    {"expire", "--keep --retention --max-entries --keep-entries",
     "to delete all but the N newest entries, use --limit N; to keep N from now on, use feedmill set URL keep=N"},
    {"export", "-o --output --out --file --opml -f", "it writes to stdout: feedmill export > FILE"},
    {"export", "--format", "it writes OPML; with --json, JSON lines"},
    {"import", "--category --tag --folder --group --channel",
     "the folders of the list become channels with --user USER"},
    {"import", "URL", "to import a list from the web, use curl -sSf URL | feedmill import -"},
    {"parse", "URL", "to read the document at a URL, use feedmill check URL"},
    {"entry", "URL", "use feedmill entries URL for the posts of a feed"},
    {"move", "CHANNEL", "to put a feed into a channel, use feedmill channel feeds CHANNEL --add URL"},
    {"add", "--file --input", "to add the feeds of a list, use feedmill import FILE"},
    {"add", "--force --no-check", "to add a URL unchecked, use echo URL | feedmill import -"},
    {"set", "NAME=VALUE",
     "the feed's URL must precede NAME=VALUE; options of the worker are set in the configuration file: feedmill config "
     "show"},
    {"set", "title= name=",
     "a feed has its publisher's title; feedmill add URL --channel CHANNEL --title TEXT gives it another one in a "
     "channel; feedmill set -h lists the keys, as keep=N"},
    {"notices", "WORD", "use feedmill notify list USER for the notices of a user"},
    {"notify", "WORD", "use feedmill notify list USER for the notices of a user"},
    {"pause", "--all -a",
     "to fetch no feed, stop the workers, or run them with --no-ingest; feedmill list lists the URLs"},
    {"refresh", "--now", "it fetches now; even after a very recent fetch, use --ignore-floor"},
    {"expire", "--all -a", "it trims one feed; retention.entries and retention.age in the configuration trim all"},
    {"run", "--no-push --no-push-out --no-webhooks", "it pushes out only with --push-out"},
    {"verify", "--all --dry-run -n --check",
     "it checks all feeds and changes nothing; --feed URL selects feeds, and --repair repairs"},
    {"doctor", "--fix --repair",
     "it names a remedy for each finding; to repair the store, use feedmill verify --repair"},
    {"webhook add", "--secret --key",
     "feedmill makes the secret and prints it once; feedmill webhook rotate ID makes another one"},
    {"config", "path file",
     "feedmill config show --origin shows where each value comes from; --config FILE names the file"},
    {"tail", "--since --start --after --from-beginning -n --lines --limit",
     "use --from ID: an event's id, 0 for all that are stored, or a time in milliseconds, as of date +%s%3N"},
    {"tail", "URL CHANNEL --feed --channel --url",
     "it prints the events of all feeds; to choose some, filter the output of feedmill tail --json"},
    {"tail", "-f --follow -F", "feedmill tail follows until Ctrl-C, without a flag"},
    {"config", "set init edit create generate unset",
     "options are set in the configuration file, by FEEDMILL_… variables or flags; feedmill config show --origin shows "
     "all with their values"},
};

}  // namespace feedmill
