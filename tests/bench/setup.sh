# shellcheck shell=bash
# Sourced by end_to_end and profile: changes to the project's folder; sets the build, the feeds and the worker's
# command. FEEDMILL=PATH measures that binary; otherwise the release binary is built.
feedmill=${FEEDMILL:+$(realpath "$FEEDMILL")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bench=$(cd ../shared/bench 2>/dev/null && pwd) || { echo "${0##*/}: skipped, ../shared/bench is not here"; exit 0; }
work=$PWD/build/bench
mkdir -p "$work/bin"
[ -n "$feedmill" ] || scripts/build release
feedmill=${feedmill:-$PWD/build/release/feedmill}

export FEEDMILL_EGRESS_ALLOW=127.0.0.0/8:1024-65535 FEEDMILL_HOST_SPACING=0ms FEEDMILL_HOST_CONCURRENCY=64
export FEEDMILL_WORKER_LANES=${FEEDMILL_WORKER_LANES:-64} FEEDMILL_SCHEDULE_IMPORT_RATE=0 FEEDMILL_FETCH_CONTACT=https://example.org/ FEEDMILL_ADMIN_LISTEN=off

# feeds_of COUNT: generates COUNT feeds unless they exist already; sets `site`. They are on at most 1000 hosts, or on
# $HOSTS, which server.sh uses, too.
feeds_of() {
  site=$work/feeds-$1${HOSTS:+-$HOSTS}
  [ ! -f "$site/urls.txt" ] || return 0
  "$bench/gen_feeds.py" --n "$1" --out "$site" --versions 3
  [ -n "${HOSTS:-}" ] || return 0
  awk -F/ -v hosts="$HOSTS" -v OFS=/ '{
    host = (NR - 1) % hosts
    sub(/^[0-9.]+/, sprintf("127.20.%d.%d", host / 250, host % 250 + 1), $3)
    print
  }' "$site/urls.txt" >"$site/urls.new"
  mv "$site/urls.new" "$site/urls.txt"
}

# wait_for_ports: waits until no other benchmark runs; the ports of measure.py are fixed.
wait_for_ports() {
  while (exec 3<>/dev/tcp/127.0.0.1/7801) 2>/dev/null || (exec 3<>/dev/tcp/127.20.0.1/8800) 2>/dev/null; do sleep 2; done
}

# as_worker BINARY: sets the commands that measure.py and peers.sh run.
as_worker() {
  local store='--redis redis://127.0.0.1:{redis}'
  export CMD="$1 run --once $store" RESET="$1 import $store {urls}"
  export DUE="$1 refresh --all --defer --ignore-floor $store"
}
