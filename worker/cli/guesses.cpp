#include "worker/cli/guesses.hpp"

#include <array>

namespace feedmill {
namespace {

constexpr std::array guessed_verbs{
    VerbGuesses{"", "feed feeds subscription subscriptions"},
    // Feeds
    VerbGuesses{"add", "create new subscribe install insert follow register"},
    VerbGuesses{"import", "load opml"},
    VerbGuesses{"run", "start serve server daemon worker up launch begin boot exec"},
    VerbGuesses{"list", "ls ps get find search feed feeds subscription subscriptions"},
    VerbGuesses{"show", "get info inspect describe view cat display details detail status feed"},
    VerbGuesses{"refresh", "fetch update poll pull sync crawl force download"},
    VerbGuesses{"set", "edit update change configure modify patch tune settings"},
    VerbGuesses{"pause", "disable suspend mute freeze mask hold"},
    VerbGuesses{"resume", "enable unpause unmute unmask continue unfreeze"},
    VerbGuesses{"move", "mv redirect relocate url"},
    VerbGuesses{"remove", "rm delete del uninstall drop purge erase"},
    VerbGuesses{"export", "opml save"},
    VerbGuesses{"login", "logins auth credential credentials password secret"},
    // Posts
    VerbGuesses{"entries", "posts post items articles news history"},
    VerbGuesses{"entry", "entries post posts item items article articles get"},
    VerbGuesses{"entry put", "add create edit update set change write"},
    VerbGuesses{"expire", "trim prune"},
    VerbGuesses{"tail", "events event follow watch monitor stream listen"},
    // Users
    VerbGuesses{"channel", "channels category categories folder folders tag tags group groups"},
    VerbGuesses{"channel order", "sort move reorder"},
    VerbGuesses{"channel feeds", "show edit set update change"},
    VerbGuesses{"channel timeline", "show posts entries items", "inbox timelines unread"},
    VerbGuesses{"channel read", "mark clear", "mark mark-read"},
    VerbGuesses{"channel unread", "", "mark-unread"},
    VerbGuesses{"channel unread-count", "count counts counters", "count counts counters unread"},
    VerbGuesses{"notify", "notification notifications"},
    VerbGuesses{"notify rules", "rule add create watch", "rule"},
    // Pushing out
    VerbGuesses{"webhook", "webhooks hook hooks callback callbacks"},
    VerbGuesses{"webhook show", "deliveries logs log history errors queue"},
    VerbGuesses{"webhook set", "filter events types rename"},
    VerbGuesses{"webhook resume", "retry redeliver resend restart start reactivate"},
    VerbGuesses{"webhook rotate", "renew regenerate secret"},
    VerbGuesses{"webhook test", "ping try send"},
    VerbGuesses{"topic", "topics hub"},
    VerbGuesses{"topic add", "share publish rename title edit set update", "share publish republish"},
    VerbGuesses{"topic list", "show get info url urls status"},
    VerbGuesses{"topic remove", "unshare unpublish revoke disable pause stop", "unshare unpublish"},
    VerbGuesses{"topic subscribers", "subscriber subscriptions followers readers", "subscriber followers"},
    // Why and what if
    VerbGuesses{"explain", "why reason schedule next"},
    VerbGuesses{"trace", "debug"},
    VerbGuesses{"check", "test validate lint probe try"},
    VerbGuesses{"discover", "detect autodiscover scan lookup"},
    VerbGuesses{"parse", "convert decode"},
    VerbGuesses{"plan", "simulate schedule forecast estimate"},
    // Operation
    VerbGuesses{"doctor", "diagnose diagnostics troubleshoot diag"},
    VerbGuesses{"health", "ping healthcheck healthz ready readyz alive is-active"},
    VerbGuesses{"top", "watch monitor dashboard status htop ps"},
    VerbGuesses{"stats", "status stat statistics figures info ps workers summary"},
    VerbGuesses{"notices", "alerts alert warnings errors problems failures"},
    VerbGuesses{"verify", "fsck repair fix integrity"},
    VerbGuesses{"where", "locate which partition"},
    VerbGuesses{"store", "database db"},
    VerbGuesses{"store export", "backup dump save snapshot", "backup dump snapshot"},
    VerbGuesses{"store import", "restore load", "restore"},
    VerbGuesses{"config", "configuration settings conf cfg options"},
    VerbGuesses{"config check", "test validate lint verify", "validate"},
    VerbGuesses{"config show", "get list ls view dump print cat", "env"},
    VerbGuesses{"completion", "completions autocomplete"},
    VerbGuesses{"man", "manual docs"},
    VerbGuesses{"help", "usage h"},
    VerbGuesses{"version", "ver about"},
};

constexpr std::array guessed_flags{
    // Of every verb
    FlagGuesses{"--json", "--format --output --output-format -o -j --out"},
    FlagGuesses{"--quiet", "--silent -s"},
    FlagGuesses{"--verbose", "--debug -d --trace"},
    FlagGuesses{"--color", "--colour --colors --no-color --no-colour"},
    FlagGuesses{"--config", "-c -f --conf --config-file --configuration --cfg --config-path"},
    FlagGuesses{"--redis",
                "--redis-url --redis-uri --redis-host --redis-addr --url --uri --server -u -H "
                "--database --database-url --db --dsn"},
    FlagGuesses{"--key-prefix", "--prefix --redis-prefix --namespace"},
    FlagGuesses{"--partition", "--shard"},
    FlagGuesses{"--data-dir", "--data --datadir --dir --data-path -D"},
    FlagGuesses{"--keep", "--retention --max-entries --keep-entries"},
    FlagGuesses{"--threads", "--workers --cpus --cores --parallel --processes -j -w -t"},
    FlagGuesses{"--lanes", "--workers --concurrency --parallel --max-concurrency --jobs --connections"},
    FlagGuesses{"--push-out", "--push --webhooks --hub"},
    FlagGuesses{"--contact", "--user-agent --email"},
    FlagGuesses{"--allow", "--allow-private --allow-local --allow-localhost --insecure"},
    FlagGuesses{"--listen",
                "--port -p --bind --host --address --addr --http --http-port --listen-addr --listen-address "
                "--metrics-port"},
    FlagGuesses{"--log-level", "--loglevel --level --debug --trace"},
    // Of several verbs
    FlagGuesses{"--yes", "-y --force -f --assume-yes --no-confirm --confirm --no-prompt --non-interactive"},
    FlagGuesses{"--dry-run", "-n --dry --dryrun --simulate --preview --check --test --what-if"},
    FlagGuesses{"--limit", "-n --max --count --lines --number --num --head --page-size --per-page --max-count --last"},
    FlagGuesses{"--columns", "--fields --field --column --cols --select -C"},
    FlagGuesses{"--header", "--headers --heading --with-header --head"},
    FlagGuesses{"--before", "--offset --after --cursor --page --from --until --older"},
    FlagGuesses{"--all", "-a -A --every --everything"},
    FlagGuesses{"--type", "--types --event --events --event-type --kind --filter -t"},
    FlagGuesses{"--user", "-u --username --owner --for --channel"},
    FlagGuesses{"--channel",
                "--user --tag --tags --category --categories --category-id --folder --folders --group "
                "--label --channels -t"},
    FlagGuesses{"--once", "--oneshot --one-shot --single --batch -b -1"},
    FlagGuesses{"--unread", "--new --unseen"},
    // Of single verbs
    FlagGuesses{"--now", "--fetch --refresh --immediately --wait"},
    FlagGuesses{"--interval-min", "--interval --every --refresh-interval --poll-interval --ttl --schedule"},
    FlagGuesses{"--backfill", "--history --archive --initial"},
    FlagGuesses{"--auth", "--username --password --login --credentials --basic-auth"},
    FlagGuesses{"--state", "--status --filter --failing --failed --errors --broken --paused"},
    FlagGuesses{"--host", "--domain --site --server"},
    FlagGuesses{"--ignore-floor", "--force -f --no-cache --hard"},
    FlagGuesses{"--defer", "--async --background --no-wait --detach -d --queue"},
    FlagGuesses{"--undo", "--revert --rollback"},
    FlagGuesses{"--guid", "--id"},
    FlagGuesses{"--feed", "--url --feeds"},
    FlagGuesses{"--text", "--content --plain --full"},
    FlagGuesses{"--age", "--older-than --older --days --max-age --since"},
    FlagGuesses{"--words", "--word --keyword --keywords --search --query"},
    FlagGuesses{"--at-once", "--concurrency --parallel"},
    FlagGuesses{"--name", "--title --label"},
    FlagGuesses{"--title", "--name --label"},
    FlagGuesses{"--ready", "--readiness --readyz"},
    FlagGuesses{"--interval", "-n -d --delay --every --refresh"},
    FlagGuesses{"--repair", "--fix"},
    FlagGuesses{"--clear", "--delete --remove"},
    FlagGuesses{"--prune", "--sync --mirror --delete"},
    FlagGuesses{"--origin", "--source --show-origin"},
    FlagGuesses{"--changed", "--diff --modified --non-default"},
    FlagGuesses{"--live", "--follow -f"},
    FlagGuesses{"--markdown", "--md"},
    FlagGuesses{"--raw-html", "--raw --unsafe"},
    FlagGuesses{"--file", "-f -i --input --from-file"},
    // Arguments
    FlagGuesses{"FILE", "--opml --file --input --from --path -f -i"},
    FlagGuesses{"URL", "--url --feed --feed-url --uri -u"},
    FlagGuesses{"ID", "--id"},
    FlagGuesses{"CHANNEL", "--channel --name --category"},
    FlagGuesses{"USER", "--user --username -u"},
    FlagGuesses{"SHELL", "--shell"},
};

constexpr std::string_view in_the_foreground =
    "feedmill run stays in the foreground; let systemd start it, or the shell: feedmill run &";
constexpr std::string_view to_stdout = "it writes to stdout: feedmill export > FILE";

constexpr std::array answers{
    AnsweredGuesses{
        "", "stop halt shutdown kill quit exit end",
        "a worker stops at Ctrl-C, SIGTERM or systemctl stop feedmill; to stop fetching feeds, use feedmill "
        "pause URL..."},
    AnsweredGuesses{"", "restart",
                    "stop the worker (Ctrl-C) and use feedmill run again, or systemctl restart feedmill; for most "
                    "options, SIGHUP reloads the configuration without a restart"},
    AnsweredGuesses{"", "reload apply",
                    "a worker reloads its configuration at SIGHUP (systemctl reload feedmill); to fetch feeds again, "
                    "use feedmill refresh [URL...]"},
    AnsweredGuesses{"", "logs log journal",
                    "a worker logs to stderr (journalctl -u feedmill); to print events, use feedmill tail; to list "
                    "notices for operators, use feedmill notices"},
    AnsweredGuesses{"", "init setup",
                    "there is nothing to set up: use feedmill add URL..., then feedmill run; the options are in "
                    "feedmill config show"},
    AnsweredGuesses{"", "purge",
                    "to delete old posts of a feed, use feedmill expire URL; to remove feeds and everything stored for "
                    "them, use feedmill remove URL..."},
    AnsweredGuesses{"", "clear reset flush wipe",
                    "to fetch a feed now, use feedmill refresh URL; to delete the notices for operators, use feedmill "
                    "notices --clear; no verb empties the store"},
    AnsweredGuesses{"", "gc clean cleanup vacuum",
                    "each refresh trims its feed (retention.entries, retention.age); to trim a feed now, use feedmill "
                    "expire URL"},
    AnsweredGuesses{"", "read",
                    "to list the posts of a feed, use feedmill entries URL; to mark entries read, use feedmill channel "
                    "read CHANNEL ID...; to mark notices read, use feedmill notify read USER ID..."},
    AnsweredGuesses{
        "", "search find",
        "to list feeds, use feedmill list; to list the feeds of a web page, use feedmill discover URL; to be "
        "notified of new posts with certain words, use feedmill notify rules USER --words WORDS"},
    AnsweredGuesses{"", "subscribe", "use feedmill add URL...; for a user, feedmill add URL... --channel USER/NAME"},
    AnsweredGuesses{"", "failed failing broken", "use feedmill list --state failing"},
    AnsweredGuesses{"", "queue due", "use feedmill list --due, or feedmill plan"},
    AnsweredGuesses{"", "undo revert rollback", "to undo a move, use feedmill move URL --undo"},
    AnsweredGuesses{"", "sanitise sanitize resanitise resanitize", "use feedmill verify --resanitise"},
    AnsweredGuesses{
        "", "upgrade migrate",
        "install the new version and restart the workers: the first one migrates the store; to copy a store "
        "to another Redis, use feedmill store export and feedmill store import"},
    AnsweredGuesses{
        "", "metrics prometheus",
        "a worker serves metrics for Prometheus at /metrics of admin.listen; for people, use feedmill stats"},
    AnsweredGuesses{"", "redis-cli redis",
                    "use redis-cli with redis.url, which feedmill config show names; the socket of a private server is "
                    "in server.json in store.data_dir"},
    AnsweredGuesses{"", "URL", "for one feed, use feedmill show URL, feedmill entries URL or feedmill explain URL"},
    AnsweredGuesses{"", "ID", "for one post, use feedmill entry ID"},
    AnsweredGuesses{"", "CHANNEL", "expected no channel; the verbs for channels are in feedmill channel -h"},
    AnsweredGuesses{"", "FILE", "to add the feeds of a list, use feedmill import FILE"},
    AnsweredGuesses{"", "users user",
                    "users are the first part of their channels' names: use feedmill channel list --user USER, and "
                    "feedmill channel add USER/NAME"},
    AnsweredGuesses{
        "", "token tokens api-token api-key api-keys apikey key keys",
        "a token of the API is a row [api.token.\"NAME\"] of the configuration, or FEEDMILL_API_TOKEN_NAME; "
        "feedmill config show lists them"},
    AnsweredGuesses{"", "-d --daemon --daemonize --detach --background", in_the_foreground},
    AnsweredGuesses{"run", "-d --daemon --daemonize --detach --background -D", in_the_foreground},
    AnsweredGuesses{
        "", "unsubscribe unfollow",
        "to take a feed out of a channel, use feedmill channel feeds CHANNEL --remove URL; to remove it for "
        "all users, use feedmill remove URL..."},
    AnsweredGuesses{
        "", "rename title retitle",
        "a feed has its publisher's title; to give it another one in a channel, use feedmill add URL --channel "
        "CHANNEL --title TEXT; to fetch it from another URL, use feedmill move URL NEW"},
    AnsweredGuesses{"channel", "follow subscribe", "use feedmill channel feeds CHANNEL --add URL"},
    AnsweredGuesses{"channel", "unfollow unsubscribe", "use feedmill channel feeds CHANNEL --remove URL"},
    AnsweredGuesses{
        "channel", "rename mv copy clone merge",
        "a channel keeps its name: use feedmill channel add NEW, and feedmill channel feeds NEW --add URL for "
        "the feeds that feedmill channel feeds OLD lists"},
    AnsweredGuesses{
        "channel", "title retitle",
        "to give a feed another title in a channel, use feedmill add URL --channel CHANNEL --title TEXT; to "
        "share the channel under a title, use feedmill topic add --channel CHANNEL --title TEXT"},
    AnsweredGuesses{"channel", "users user members owner",
                    "a user's own channels are USER/NAME: use feedmill channel list --user USER"},
    AnsweredGuesses{"channel", "share publish", "use feedmill topic add --channel CHANNEL"},
    AnsweredGuesses{"channel", "refresh fetch poll",
                    "use feedmill refresh URL... for the feeds that feedmill channel feeds CHANNEL lists"},
    AnsweredGuesses{"channel", "watch notify alert", "use feedmill notify rules USER --channel CHANNEL"},
    AnsweredGuesses{"webhook", "disable pause stop suspend mute",
                    "a webhook cannot be paused: to receive less, use feedmill webhook set ID; to end it, use feedmill "
                    "webhook remove ID"},
    AnsweredGuesses{"topic", "rotate renew regenerate reset",
                    "use feedmill topic remove, then feedmill topic add: it gets another address"},
    AnsweredGuesses{"entry", "show get view cat display", "use feedmill entry ID"},
    AnsweredGuesses{"entry", "list ls find search", "use feedmill entries URL for the entries of a feed"},
    AnsweredGuesses{"entry", "read unread mark mark-read seen",
                    "use feedmill channel read CHANNEL ID, or feedmill channel unread CHANNEL ID"},
    AnsweredGuesses{"entry", "text content body", "use feedmill entry ID --text"},
    AnsweredGuesses{"config", "feed", "use feedmill show URL; to change them, feedmill set URL NAME=VALUE"},
    AnsweredGuesses{"list", "--all -a -A", "feedmill list lists all feeds"},
    AnsweredGuesses{
        "list", "WORD",
        "to list some feeds, use --state STATE or --host HOST; to list the channels of a user, use feedmill "
        "channel list --user USER"},
    AnsweredGuesses{"list", "--search --grep --since",
                    "to list some feeds, use --state STATE or --host HOST; else search the output with grep"},
    AnsweredGuesses{"list", "--unread", "use feedmill channel unread-count for the unread posts of channels"},
    AnsweredGuesses{"list", "CHANNEL --user --channel --category --folder --tag --group",
                    "use feedmill channel feeds CHANNEL for the feeds of a channel"},
    AnsweredGuesses{"list", "--sort --order --sort-by --reverse -r",
                    "feeds are listed in the order of their URLs; sort the output with sort, or jq and --json"},
    AnsweredGuesses{"entries", "--since --newer-than --from",
                    "the newest are listed first: use --limit N, and --before SCORE:ID for older ones"},
    AnsweredGuesses{"entries", "CHANNEL --unread --channel --user --category",
                    "use feedmill channel timeline CHANNEL for the posts of a channel"},
    AnsweredGuesses{
        "expire", "--keep --retention --max-entries --keep-entries",
        "to delete all but the N newest entries, use --limit N; to keep N from now on, use feedmill set URL "
        "keep=N"},
    AnsweredGuesses{"export", "-o --output --out --file --opml -f", to_stdout},
    AnsweredGuesses{"export", "--format", "it writes OPML; with --json, JSON lines"},
    AnsweredGuesses{"import", "--category --tag --folder --group --channel",
                    "the folders of the list become channels with --user USER"},
    AnsweredGuesses{"import", "URL", "to import a list from the web, use curl -sSf URL | feedmill import -"},
    AnsweredGuesses{"parse", "URL", "to read the document at a URL, use feedmill check URL"},
    AnsweredGuesses{"entry", "URL", "use feedmill entries URL for the posts of a feed"},
    AnsweredGuesses{"move", "CHANNEL", "to put a feed into a channel, use feedmill channel feeds CHANNEL --add URL"},
    AnsweredGuesses{"add", "--file --input", "to add the feeds of a list, use feedmill import FILE"},
    AnsweredGuesses{"add", "--force --no-check", "to add a URL unchecked, use echo URL | feedmill import -"},
    AnsweredGuesses{"set", "NAME=VALUE",
                    "the feed's URL must precede NAME=VALUE; options of the worker are set in the configuration file: "
                    "feedmill config show"},
    AnsweredGuesses{
        "set", "title= name=",
        "a feed has its publisher's title; feedmill add URL --channel CHANNEL --title TEXT gives it another "
        "one in a channel; feedmill set -h lists the keys, as keep=N"},
    AnsweredGuesses{"notices", "WORD", "use feedmill notify list USER for the notices of a user"},
    AnsweredGuesses{"notify", "WORD", "use feedmill notify list USER for the notices of a user"},
    AnsweredGuesses{"pause", "--all -a",
                    "to fetch no feed, stop the workers, or run them with --no-ingest; feedmill list lists the URLs"},
    AnsweredGuesses{"refresh", "--now", "it fetches now; even after a very recent fetch, use --ignore-floor"},
    AnsweredGuesses{"expire", "--all -a",
                    "it trims one feed; retention.entries and retention.age in the configuration trim all"},
    AnsweredGuesses{"run", "--no-push --no-push-out --no-webhooks", "it pushes out only with --push-out"},
    AnsweredGuesses{"verify", "--all --dry-run -n --check",
                    "it checks all feeds and changes nothing; --feed URL selects feeds, and --repair repairs"},
    AnsweredGuesses{"doctor", "--fix --repair",
                    "it names a remedy for each finding; to repair the store, use feedmill verify --repair"},
    AnsweredGuesses{"webhook add", "--secret --key",
                    "feedmill makes the secret and prints it once; feedmill webhook rotate ID makes another one"},
    AnsweredGuesses{"config", "path file",
                    "feedmill config show --origin shows where each value comes from; --config FILE names the file"},
    AnsweredGuesses{"tail", "--since --start --after --from-beginning -n --lines --limit",
                    "use --from ID: an event's id, 0 for all that are stored, or a time in milliseconds, as of date "
                    "+%s%3N"},
    AnsweredGuesses{"tail", "URL CHANNEL --feed --channel --url",
                    "it prints the events of all feeds; to choose some, filter the output of feedmill tail --json"},
    AnsweredGuesses{"tail", "-f --follow -F", "feedmill tail follows until Ctrl-C, without a flag"},
    AnsweredGuesses{"config", "set init edit create generate unset",
                    "options are set in the configuration file, by FEEDMILL_… variables or flags; feedmill config show "
                    "--origin shows all with their values"},
};

}  // namespace

std::span<const VerbGuesses> verb_guesses() {
  return guessed_verbs;
}

std::span<const FlagGuesses> flag_guesses() {
  return guessed_flags;
}

std::span<const AnsweredGuesses> answered_guesses() {
  return answers;
}

}  // namespace feedmill
