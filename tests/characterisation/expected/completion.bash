# bash completion of feedmill; made by: feedmill completion bash
_feedmill_channels() { feedmill channel list 2>/dev/null | sed 's/^ *[0-9]*  *[0-9]*  *//'; }
_feedmill_offer() {
  local word
  while IFS= read -r word; do
    printf -v word %q "$word"
    [[ $word != "${COMP_WORDS[COMP_CWORD]}"* ]] || COMPREPLY+=("$word")
  done
  [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}
_feedmill() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb='' verbs='' flags='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in --color|--config|--redis|--key-prefix|--partition|--embedded|--data-dir|--keep|--threads|--lanes|--contact|--allow|--listen|--log-level|--channel|--keep|--backfill|--interval-min|--policy|--auth|--user|--state|--host|--user|--limit|--before|--feed|--guid|--feed|--guid|--file|--limit|--age|--bytes|--from|--type|--user|--add|--remove|--limit|--before|--user|--feed|--channel|--words|--remove|--feed|--channel|--type|--name|--at-once|--signature|--old-for|--channel|--channel|--channel|--for|--url|--content-type|--header|--html-policy|--days|--host|--feeds|--interval|--feed|--journal|--feed) ((i++)); continue ;; esac
    case "$verb ${COMP_WORDS[i]}" in
      ' add'|' import'|' run'|' list'|' show'|' refresh'|' set'|' pause'|' resume'|' move'|' remove'|' export'|' entries'|' entry'|' expire'|' tail'|' channel'|' notify'|' webhook'|' topic'|' explain'|' trace'|' check'|' discover'|' parse'|' plan'|' doctor'|' health'|' top'|' stats'|' notices'|' verify'|' where'|' store'|' config'|' completion'|' man') verb="${verb:+$verb }${COMP_WORDS[i]}" ;;
      'entry put'|'entry remove') verb="$verb ${COMP_WORDS[i]}" ;;
      'channel list'|'channel add'|'channel remove'|'channel order'|'channel feeds'|'channel timeline'|'channel read'|'channel unread'|'channel unread-count') verb="$verb ${COMP_WORDS[i]}" ;;
      'notify rules'|'notify list'|'notify read'|'notify delete') verb="$verb ${COMP_WORDS[i]}" ;;
      'webhook add'|'webhook list'|'webhook show'|'webhook set'|'webhook rotate'|'webhook resume'|'webhook remove'|'webhook test') verb="$verb ${COMP_WORDS[i]}" ;;
      'topic add'|'topic list'|'topic remove'|'topic subscribers') verb="$verb ${COMP_WORDS[i]}" ;;
      'store export'|'store import') verb="$verb ${COMP_WORDS[i]}" ;;
      'config check'|'config show') verb="$verb ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$verb $previous" in
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
  case "$previous" in --config|--data-dir|--file|--journal) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    --color|--config|--redis|--key-prefix|--partition|--embedded|--data-dir|--keep|--threads|--lanes|--contact|--allow|--listen|--log-level|--channel|--keep|--backfill|--interval-min|--policy|--auth|--user|--state|--host|--user|--limit|--before|--feed|--guid|--feed|--guid|--file|--limit|--age|--bytes|--from|--type|--user|--add|--remove|--limit|--before|--user|--feed|--channel|--words|--remove|--feed|--channel|--type|--name|--at-once|--signature|--old-for|--channel|--channel|--channel|--for|--url|--content-type|--header|--html-policy|--days|--host|--feeds|--interval|--feed|--journal|--feed) return ;; esac
  case "$verb" in
    '') verbs='add import run list show refresh set pause resume move remove export entries entry expire tail channel notify webhook topic explain trace check discover parse plan doctor health top stats notices verify where store config completion man' flags='' ;;
    'add') verbs='' flags='-h --help --now --channel --first --dry-run --keep --backfill --interval-min --policy --auth' ;;
    'import') verbs='' flags='-h --help --dry-run --prune --yes --user' ;;
    'run') verbs='' flags='-h --help --once' ;;
    'list') verbs='' flags='-h --help --state --host --due' ;;
    'show') verbs='' flags='-h --help' ;;
    'refresh') verbs='' flags='-h --help --all --defer --ignore-floor' ;;
    'set') verbs='' flags='-h --help --dry-run' ;;
    'pause') verbs='' flags='-h --help --dry-run' ;;
    'resume') verbs='' flags='-h --help --dry-run' ;;
    'move') verbs='' flags='-h --help --undo' ;;
    'remove') verbs='' flags='-h --help --yes --dry-run' ;;
    'export') verbs='' flags='-h --help --user' ;;
    'entries') verbs='' flags='-h --help --limit --before' ;;
    'entry') verbs='put remove' flags='-h --help --feed --guid --text' ;;
    'entry put') verbs='' flags='-h --help --feed --guid --file --replace' ;;
    'entry remove') verbs='' flags='-h --help --yes --dry-run' ;;
    'expire') verbs='' flags='-h --help --limit --age --bytes --yes --dry-run' ;;
    'tail') verbs='' flags='-h --help --from --type' ;;
    'channel') verbs='list add remove order feeds timeline read unread unread-count' flags='-h --help' ;;
    'channel list') verbs='' flags='-h --help --user' ;;
    'channel add') verbs='' flags='-h --help' ;;
    'channel remove') verbs='' flags='-h --help --yes' ;;
    'channel order') verbs='' flags='-h --help' ;;
    'channel feeds') verbs='' flags='-h --help --add --remove' ;;
    'channel timeline') verbs='' flags='-h --help --all --once --limit --before' ;;
    'channel read') verbs='' flags='-h --help --all' ;;
    'channel unread') verbs='' flags='-h --help' ;;
    'channel unread-count') verbs='' flags='-h --help --user' ;;
    'notify') verbs='rules list read delete' flags='-h --help' ;;
    'notify rules') verbs='' flags='-h --help --feed --channel --words --remove' ;;
    'notify list') verbs='' flags='-h --help --unread' ;;
    'notify read') verbs='' flags='-h --help --all' ;;
    'notify delete') verbs='' flags='-h --help --all' ;;
    'webhook') verbs='add list show set rotate resume remove test' flags='-h --help' ;;
    'webhook add') verbs='' flags='-h --help --feed --channel --type --initial --private --name --at-once --signature' ;;
    'webhook list') verbs='' flags='-h --help' ;;
    'webhook show') verbs='' flags='-h --help' ;;
    'webhook set') verbs='' flags='-h --help' ;;
    'webhook rotate') verbs='' flags='-h --help --old-for' ;;
    'webhook resume') verbs='' flags='-h --help' ;;
    'webhook remove') verbs='' flags='-h --help --yes' ;;
    'webhook test') verbs='' flags='-h --help' ;;
    'topic') verbs='add list remove subscribers' flags='-h --help' ;;
    'topic add') verbs='' flags='-h --help --channel' ;;
    'topic list') verbs='' flags='-h --help' ;;
    'topic remove') verbs='' flags='-h --help --channel --yes' ;;
    'topic subscribers') verbs='' flags='-h --help --channel' ;;
    'explain') verbs='' flags='-h --help' ;;
    'trace') verbs='' flags='-h --help --ignore-floor --live --for' ;;
    'check') verbs='' flags='-h --help' ;;
    'discover') verbs='' flags='-h --help' ;;
    'parse') verbs='' flags='-h --help --url --content-type --header --raw-html --html-policy --explain --pipe' ;;
    'plan') verbs='' flags='-h --help --days --host --feeds' ;;
    'doctor') verbs='' flags='-h --help' ;;
    'health') verbs='' flags='-h --help --ready' ;;
    'top') verbs='' flags='-h --help --once --interval' ;;
    'stats') verbs='' flags='-h --help' ;;
    'notices') verbs='' flags='-h --help --clear' ;;
    'verify') verbs='' flags='-h --help --feed --repair --resanitise --journal' ;;
    'where') verbs='' flags='-h --help' ;;
    'store') verbs='export import' flags='-h --help' ;;
    'store export') verbs='' flags='-h --help --feed' ;;
    'store import') verbs='' flags='-h --help --dry-run --replace --yes' ;;
    'config') verbs='check show' flags='-h --help' ;;
    'config check') verbs='' flags='-h --help' ;;
    'config show') verbs='' flags='-h --help --origin --changed' ;;
    'completion') verbs='' flags='-h --help' ;;
    'man') verbs='' flags='-h --help --markdown' ;;
  esac
  flags="$flags -h --help --json -q --quiet -v --verbose --color --version --config --redis --key-prefix --partition --embedded --data-dir --keep --threads --lanes --no-ingest --no-deliver --push-out --contact --allow --listen --log-level"
  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current"); return; fi
  if [[ -n $verbs ]]; then mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current"); return; fi
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
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _feedmill feedmill
