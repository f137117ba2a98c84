#include "storage/store/store.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>

#include <openssl/sha.h>

#include "parsers/text/strings.hpp"
#include "storage/lua/scripts.hpp"
#include "storage/redis/placement.hpp"
#include "storage/redis/redis_address.hpp"
#include "storage/redis/resp.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr int schema_version = 2;

Keys keys_of(const StoreOptions& options, bool in_cluster, const Partition& partition) {
  if (options.of_all) return Keys::of_all(options.key_prefix);
  if (!in_cluster && partition.is_whole()) return Keys(options.key_prefix);
  return Keys(options.key_prefix, "{" + tag_of(partition) + "}:");
}

/// 128 random bits in hex.
std::string random_id() {
  std::random_device random;  // the kernel's
  std::string id;
  for (int word = 0; word < 4; ++word) {
    for (std::uint32_t bits = random(), digit = 0; digit < 8; ++digit, bits >>= 4U)
      id += "0123456789abcdef"[bits & 15U];
  }
  return id;
}

/// A server that rejects our scripts is not really Redis, or forbids scripts.
StoreError unlike_redis(const StoreError& error) {
  if (error.code != StoreError::Code::bug) return error;
  return {StoreError::Code::unsupported,
          "the server does not take our scripts; Redis 7.0 or Valkey 7.2 is needed: " + error.detail};
}

}  // namespace

Store::Impl::Impl(StoreOptions given, RedisAddress address)
    : options(std::move(given)),
      keys(keys_of(options, !address.cluster.empty(), options.partition)),
      redis(std::move(address), options.timeout) {}

std::string server_name(std::string_view info) {
  const std::string_view valkey = info_value(info, "valkey_version");
  return valkey.empty() ? "redis " + std::string(info_value(info, "redis_version")) : "valkey " + std::string(valkey);
}

StoreResult<Milliseconds> Store::Impl::now() {
  if (auto connected = ready(); !connected) return connected.error();
  const auto text = now_text();
  if (!text) return text.error();
  return Milliseconds(std::stoll(*text));
}

StoreResult<void> Store::Impl::ready() {
  if (bad_address) return *bad_address;
  const auto connected = redis.connect();
  if (!connected) return connected.error();
  // A command may have reconnected, so the result of this call is not enough.
  if (std::exchange(met_, redis.connections()) == redis.connections()) return {};
  if (auto met = meet_server(); !met) {
    redis.disconnect();  // so that meet_server() runs again
    return met;
  }
  return {};
}

/// Runs once per connection. Ignores missing rights and other rejections, because the next command fails more clearly.
StoreResult<void> Store::Impl::meet_server() {
  waitaof_.reset();
  replication_id_.clear();
  failovers_ = 0;
  if (options.reads_only) return {};
  const auto is_lost = [](const auto& reply) {
    return reply.has_error() && reply.error().code != StoreError::Code::auth &&
           reply.error().code != StoreError::Code::unsupported;
  };
  const auto replication = redis.command({"INFO", "replication"});
  if (is_lost(replication)) return replication.error();
  if (!replication || info_value(replication->text(), "role") != "master") return {};
  const std::string id(info_value(replication->text(), "master_replid"));
  const auto noted = redis.command({"HMGET", keys.store(), "primary", "failovers"});
  if (!noted) return {};
  replication_id_ = id;
  failovers_ = static_cast<std::uint64_t>((*noted)[1].integer());
  if (id.empty() || (*noted)[0].text() == id) return {};
  const std::string_view before = info_value(replication->text(), "master_replid2");
  const bool was_replica = before.find_first_not_of('0') != std::string_view::npos;
  Args args;
  args.add(std::string_view(id));
  args.add(was_replica ? 1 : 0);
  const auto settled = run(Script::another_primary, args);
  if (is_lost(settled)) return settled.error();
  const auto counted = redis.command({"HGET", keys.store(), "failovers"});
  if (is_lost(counted)) return counted.error();
  if (counted) failovers_ = static_cast<std::uint64_t>(counted->integer());
  return {};
}

StoreError Store::Impl::leave_older_server() {
  redis.disconnect();
  return {StoreError::Code::unavailable,
          "the server has been replaced by another after a failover but does not know it yet"};
}

StoreResult<std::string> Store::Impl::open(bool create) {
  if (auto connected = ready(); !connected) return connected.error();
  const auto info = redis.command({"INFO", "server"});
  if (!info) return info.error();
  const std::string_view version = info_value(info->text(), "redis_version");
  std::string server = server_name(info->text());
  if (const auto fit = check_kind(info->text()); !fit) return fit.error();
  if (leading_number<int>(version) < 7) {
    return StoreError{StoreError::Code::unsupported, "the server is version " + std::string(version) +
                                                         "; Redis 7.0 or newer or Valkey 7.2 or newer is needed"};
  }
  if (!options.reads_only) {
    if (const auto works = check_work(version); !works) return works.error();
  }
  if (options.of_all) return server;
  const auto about = redis.command({"HMGET", keys.store(), "schema", "id", "partitions", "migrating"});
  if (!about) return about.error();
  // The hash may hold only statistics: from workers that kept running when a node came back empty.
  if ((*about)[0].is_nil() && (*about)[2].is_nil()) {
    const bool creates = create && !options.reads_only;
    if (const auto fits = check_layout(creates); !fits) return fits.error();
    if (!creates) return server;
    const auto created = now_text();
    if (!created) return created.error();
    const auto feeds = redis.command({"SCARD", keys.feeds()});
    if (!feeds) return feeds.error();
    const std::string schema = std::to_string(schema_version), store = keys.store();
    const std::string partitions = std::to_string(options.partition.count);
    const std::string partition = std::to_string(options.partition.index);
    Words words{"HSET", store, "schema", schema, "partitions", partitions, "created", *created};
    if (!options.partition.is_whole()) words.insert(words.end(), {"partition", partition});
    if (!replication_id_.empty()) words.insert(words.end(), {"primary", replication_id_});
    if (feeds->integer() == 0) words.insert(words.end(), {"by_url", "1"});    // RELIABILITY L22: nothing to build yet
    if (feeds->integer() > 0) words.insert(words.end(), {"migrating", "1"});  // unknown by which build
    const auto written = redis.command(words);
    if (!written) return written.error();
    if (const auto named = give_id(); !named) return named.error();
    if (feeds->integer() > 0) {
      if (const auto migrated = migrate(); !migrated) return migrated.error();
    }
    return server;
  }
  if (const auto fits = check_partitions((*about)[2]); !fits) return fits.error();
  const auto schema = (*about)[0];
  if (schema.integer() > schema_version) {
    return StoreError{StoreError::Code::unsupported, "the store was written by a newer feedmill (schema " +
                                                         std::string(schema.text()) + "); upgrade this one"};
  }
  if (!create || options.reads_only) return server;
  if (schema.integer() == 1 || !(*about)[3].is_nil()) {
    if (const auto migrated = migrate(); !migrated) return migrated.error();
  }
  if ((*about)[1].is_nil()) {
    if (const auto named = give_id(); !named) return named.error();
  }
  return server;
}

/// `there`: the number of partitions recorded in the store; nil in a store older than partitions: one.
StoreResult<void> Store::Impl::check_partitions(ReplyView there) const {
  const std::string found = there.is_nil() ? "1" : std::string(there.text());
  const std::string wanted = std::to_string(options.partition.count);
  if (found == wanted) return {};
  if (found == "1") {
    return StoreError{
        StoreError::Code::unsupported,
        "the store is in one piece, not in " + wanted +
            " partitions: leave redis.partitions out, or bring it under another redis.key_prefix (feedmill store "
            "export, store import)"};
  }
  return StoreError{StoreError::Code::unsupported,
                    "the store has " + found + " partitions: write redis.partitions = " + found};
}

/// The number of partitions is recorded in the meta:store key of a single partition.
StoreResult<void> Store::Impl::check_layout(bool create) {
  if (options.partition.is_whole()) return {};  // it is the single partition
  const Keys whole = keys_of(options, redis.is_clustered(), Partition());
  const std::string place = whole.store(), count = std::to_string(options.partition.count);
  Redis beside = redis.at_slot(slot_of_tag(tag_of(Partition())));
  const auto there = beside.command({"HMGET", place, "partitions", "schema"});
  if (!there) return there.error();
  const bool is_empty = (*there)[0].is_nil() && (*there)[1].is_nil();
  if (!is_empty) return check_partitions((*there)[0]);
  if (!create) return {};
  const auto noted = run_at(beside, Script::meta_once, {"1", place, whole.prefix(), "partitions", count});
  if (!noted) return noted.error();
  return check_partitions(noted->view());
}

/// Rejects servers that answer but hold no store, where verbs would find nothing.
StoreResult<void> Store::Impl::check_kind(std::string_view info) {
  std::string_view mode = info_value(info, "redis_mode");
  if (mode.empty()) mode = info_value(info, "server_mode");  // Valkey's name
  const RedisAddress address = *parse_redis_url(options.url);
  const bool is_node = mode == "cluster" && address.cluster.empty();
  if (!is_node && mode != "sentinel") return {};
  if (is_node) return StoreError{StoreError::Code::unsupported, remedy_at_cluster_node(address)};
  const auto watched = redis.command({"SENTINEL", "MASTERS"});
  const bool knows = watched && watched->size() > 0 && (*watched)[0].size() > 1;
  return StoreError{StoreError::Code::unsupported, "redis.url names a sentinel, which holds no store; write " +
                                                       url_as("+sentinel", address) + "/" +
                                                       (knows ? std::string((*watched)[0][1].text()) : "service")};
}

/// Gives the store an id unless it has one (WEBSUB U16): it is either new or older than ids. One of two concurrent
/// calls wins.
StoreResult<void> Store::Impl::give_id() {
  Args args;
  args.add(std::string_view("id"));
  args.own(random_id());
  const auto id = run(Script::meta_once, args);
  if (!id) return id.error();
  return {};
}

/// Checks the requirements for writing.
StoreResult<void> Store::Impl::check_work(std::string_view version) {
  if (const auto allowed = check_rights(); !allowed) return allowed.error();
  if (const auto kept = check_eviction(); !kept) return kept.error();
  return check_durability(version);
}

StoreResult<void> Store::Impl::check_eviction() {
  const auto memory = redis.command({"INFO", "memory"});
  if (!memory) return memory.error();
  const std::string_view policy = info_value(memory->text(), "maxmemory_policy");
  if (policy == "noeviction" || options.allow_eviction) return {};
  return StoreError{StoreError::Code::unsupported,
                    "maxmemory-policy of the server is '" + std::string(policy) +
                        "', which would throw posts away; set it to 'noeviction', or store.allow_eviction=true"};
}

namespace {

std::string granting(const std::vector<std::string>& rights) {
  std::string names;
  for (const std::string& name : rights) names += (names.empty() ? "" : " ") + name;
  return names;
}

}  // namespace

/// Checks the user's rights (SECURITY A1). Also detects servers that reject scripts reading undeclared keys.
StoreResult<void> Store::Impl::check_rights() {
  Args args;
  args.add(std::string_view(keys.channel_prefix()));
  const auto refused = run(Script::probe, args);
  if (!refused && options.of_all && refused.error().code == StoreError::Code::auth) {
    return StoreError{StoreError::Code::auth,
                      "its user may not use what belongs to the one stream of all partitions: grant ~" + keys.prefix() +
                          "* (ACL SETUSER; deploy/redis/users.acl)"};
  }
  if (!refused) return unlike_redis(refused.error());
  std::vector<std::string> missing = refused->texts();
  if (options.durability == Durability::replica) {
    // Only if needed: some servers do not know it.
    const auto waited = redis.command({"WAIT", "0", "1"});
    if (!waited && waited.error().code != StoreError::Code::auth) return waited.error();
    if (!waited) missing.emplace_back("+wait");
  }
  if (missing.empty()) return {};
  return StoreError{StoreError::Code::auth, "its user lacks rights on our keys: grant " + granting(missing) +
                                                " (ACL SETUSER; deploy/redis/users.acl lists all that are needed)"};
}

StoreResult<void> Store::Impl::check_scan_rights() {
  if (auto connected = ready(); !connected) return connected.error();
  Args args;
  args.add(std::string_view(keys.channel_prefix()));
  args.add(std::string_view("scan"));
  const auto refused = run(Script::probe, args);
  if (!refused) return refused.error();
  const std::vector<std::string> missing = refused->texts();
  if (missing.empty()) return {};
  return StoreError{StoreError::Code::auth,
                    "its user may not look into every key: log in as feedmill_admin, or grant " + granting(missing) +
                        " (deploy/redis/users.acl)"};
}

StoreResult<std::string> Store::Impl::id() {
  if (auto connected = ready(); !connected) return connected.error();
  const auto id = redis.command({"HGET", keys.store(), "id"});
  if (!id) return id.error();
  return std::string(id->text());
}

StoreResult<std::string> Store::Impl::now_text() {
  const auto time = redis.command({"TIME"});
  if (!time) return time.error();
  return std::to_string((*time)[0].integer() * 1000 + (*time)[1].integer() / 1000);
}

/// The script's id on the server: SHA-1 of its text, in lower-case hex.
const std::string& Store::Impl::hash_of(Script script) {
  std::string& hash = hashes_[static_cast<std::size_t>(script)];
  if (!hash.empty()) return hash;
  const std::string_view text = script_rows[static_cast<std::size_t>(script)].text;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  for (const unsigned char byte : digest) {
    hash += "0123456789abcdef"[byte >> 4U];
    hash += "0123456789abcdef"[byte & 15U];
  }
  return hash;
}

StoreResult<void> Store::Impl::load(Script script) {
  // Not EVAL: servers may evict scripts loaded that way.
  const auto loaded = redis.command({"SCRIPT", "LOAD", script_rows[static_cast<std::size_t>(script)].text});
  if (loaded) return {};
  return unlike_redis(loaded.error());
}

namespace {

/// The call did nothing: the server does not have the script.
bool is_unknown_script(const StoreResult<Reply>& reply) {
  return reply.has_error() && reply.error().detail.starts_with("NOSCRIPT");
}

/// The call did nothing: it is part of a commit, and the part before it did not run (commit.lua).
bool is_out_of_turn(Script script, const StoreResult<Reply>& reply) {
  return script == Script::commit && reply && (*reply)[0].text().starts_with("part ");
}

}  // namespace

std::vector<StoreResult<Reply>> Store::Impl::run_all(Script script, std::span<const Args> calls) {
  std::vector<StoreResult<Reply>> replies;
  replies.reserve(calls.size());
  if (options.reads_only) {
    const StoreError refused{StoreError::Code::bug, "a script was requested on a read-only connection"};
    replies.assign(calls.size(), refused);
    return replies;
  }
  if (auto connected = ready(); !connected) {
    replies.assign(calls.size(), connected.error());
    return replies;
  }
  const std::string schedule = keys.schedule(), none = keys.none();
  const bool answers = request != nullptr && script_rows[static_cast<std::size_t>(script)].answers_requests;
  const std::string requests = answers ? keys.requests() : std::string();
  const auto append = [&](const Args& args) {
    if (!answers) {
      redis.append({"EVALSHA", hash_of(script), "2", schedule, none, keys.prefix()}, args.words());
      return;
    }
    Words words = args.words();
    for (const std::string& word : request->words) words.push_back(word);
    words.push_back(script == request->ended_by ? std::string_view(request->outcomes) : std::string_view());
    redis.append({"EVALSHA", hash_of(script), "3", schedule, none, requests, keys.prefix()}, words);
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    append(calls[i]);
    if (i > 0 && script == Script::commit) test_point("S7");
  }
  // Calls are sent without checking for the script. If the server lacks it (first use, a failover, SCRIPT FLUSH), they
  // fail, the script is loaded and they are sent again in order. Another client may load it in between: then only the
  // first ones fail. Later parts of a commit refuse to run out of turn and are sent again too; other calls do not
  // depend on earlier ones.
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    replies.push_back(answer(script));
    const bool is_left = is_unknown_script(replies[i]) || (!again.empty() && is_out_of_turn(script, replies[i]));
    if (is_left) again.push_back(i);
  }
  if (!again.empty() && redis.connected()) {
    const auto loaded = load(script);
    if (loaded) {
      for (const std::size_t i : again) append(calls[i]);
    }
    for (const std::size_t i : again) replies[i] = loaded ? answer(script) : loaded.error();
  }
  leave_if_another_leads(replies);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (replies[i].has_error() && replies[i].error().detail.starts_with("WRONGTYPE Operation"))
      replies[i] = with_wrong_key(replies[i].error(), calls[i]);
  }
  return replies;
}

/// Adds the key of the wrong type, because Redis' message names only the script: the first one among the shared keys
/// and those of the first names in `call`.
StoreError Store::Impl::with_wrong_key(StoreError error, const Args& call) {
  constexpr std::size_t most_names = 16, longest_name = 4096;
  Args args;
  args.add(std::string_view("types"));
  for (const std::string_view word : call.words()) {
    if (args.words().size() <= most_names && !word.empty() && word.size() <= longest_name) args.add(word);
  }
  const auto found = run(Script::verify_store, args);
  if (!found || (*found)[0].size() == 0) return error;
  const ReplyView wrong = (*found)[0][0];  // invariant, kind, feed URL, keys, detail
  error.detail = "WRONGTYPE " + std::string(wrong[3][0].text()) + " " + std::string(wrong[4].text());
  return error;
}

StoreResult<Reply> Store::Impl::run_at(Redis& server, Script script, const Words& arguments) {
  Words words{"EVALSHA", hash_of(script)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto reply = server.command(words);
  if (!is_unknown_script(reply)) return reply;
  const auto loaded = server.command({"SCRIPT", "LOAD", script_rows[static_cast<std::size_t>(script)].text});
  if (!loaded) return loaded.error();
  return server.command(words);
}

StoreResult<Reply> Store::Impl::answer(Script script) {
  auto reply = redis.next();
  if (!reply) return reply;
  const ScriptRow& row = script_rows[static_cast<std::size_t>(script)];
  if (auto wrong = misshapen(row.name, row.answer, *reply)) return std::move(*wrong);
  return reply;
}

/// Disconnects if another server leads now: after a failover (RELIABILITY §6), if a primary has lost its replicas to
/// another, or if a cluster slot has moved.
void Store::Impl::leave_if_another_leads(std::span<const StoreResult<Reply>> replies) {
  const auto refused = [](const StoreResult<Reply>& reply) {
    return reply.has_error() && leads_elsewhere(reply.error());
  };
  if (std::any_of(replies.begin(), replies.end(), refused)) redis.disconnect();
}

StoreResult<Reply> Store::Impl::run(Script script, const Args& args) {
  return run_all(script, std::span(&args, 1)).front();
}

std::vector<StoreResult<Reply>> Store::Impl::pipeline_each(std::span<const Words> commands) {
  std::vector<StoreResult<Reply>> replies;
  replies.reserve(commands.size());
  if (auto connected = ready(); !connected) {
    replies.assign(commands.size(), connected.error());
    return replies;
  }
  for (const Words& words : commands) redis.append(words);
  for (const Words& words : commands) {
    replies.push_back(redis.next());
    if (!replies.back()) replies.back() = with_key(replies.back().error(), words);
    if (!replies.back()) continue;
    if (auto wrong = misshapen(words.front(), *replies.back())) replies.back() = std::move(*wrong);
  }
  leave_if_another_leads(replies);
  return replies;
}

StoreResult<bool> Store::Impl::hold_lock(std::string_view name, const std::string& token, Milliseconds ttl) {
  Args args;
  args.add(name);
  args.add(std::string_view(token));
  args.add(ttl);
  const auto reply = run(Script::lock, args);
  if (!reply) return reply.error();
  return reply->integer() == 1;
}

StoreResult<std::vector<Reply>> Store::Impl::pipeline(std::span<const Words> commands) {
  std::vector<Reply> all;
  for (StoreResult<Reply>& reply : pipeline_each(commands)) {
    if (!reply) return reply.error();
    all.push_back(std::move(*reply));
  }
  return all;
}

Store::Store(StoreOptions options) {
  auto address = parse_redis_url(options.url);
  if (address) {
    if (!options.password.empty()) address->password = options.password;
    address->ca_file = options.ca_file;
    address->cert_file = options.cert_file;
    address->key_file = options.key_file;
    address->sentinel_user = options.sentinel_user;
    address->sentinel_password = options.sentinel_password;
    address->slot =
        slot_of_tag(options.of_all ? Keys::of_all(options.key_prefix).signals() : tag_of(options.partition));
  }
  impl_ = std::make_unique<Impl>(std::move(options), address ? *address : RedisAddress{});
  if (!address) impl_->bad_address = address.error();
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

StoreResult<std::string> Store::open(bool create) {
  return impl_->open(create);
}

StoreResult<void> Store::check_eviction() {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  return impl_->check_eviction();
}

void Store::leave_closed() {
  impl_->redis.leave_closed();
}

void Store::disconnect() {
  impl_->redis.disconnect();
}

void Store::break_wait() {
  impl_->redis.break_wait();
}

std::uint64_t Store::reconnects() const {
  const std::uint64_t connections = impl_->redis.connections();
  return connections == 0 ? 0 : connections - 1;
}

StoreResult<Milliseconds> Store::now() {
  return impl_->now();
}

StoreResult<std::string> Store::id() {
  return impl_->id();
}

std::optional<unsigned> Store::elsewhere(std::string_view feed_url) const {
  const Partition& mine = impl_->options.partition;
  const unsigned its = partition_of(feed_url, mine.count);
  return its == mine.index ? std::nullopt : std::optional(its);
}

StoreOptions Store::options_at(unsigned partition) const {
  StoreOptions there = impl_->options;
  there.partition.index = partition;
  there.of_all = false;
  return there;
}

const Partition& Store::partition() const {
  return impl_->options.partition;
}

bool Store::is_of_all() const {
  return impl_->options.of_all;
}

const std::string& Store::prefix() const {
  return impl_->keys.prefix();
}

StoreResult<std::string> Store::node() {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  return impl_->redis.address();
}

void Store::set_signals_caps(std::uint64_t records, std::uint64_t bytes) {
  impl_->options.signals_max_len = records;
  impl_->options.signals_max_bytes = bytes;
}

std::string StoreOptions::stream_cap() const {
  std::string cap = std::to_string(signals_max_len);
  if (signals_max_bytes > 0) cap += " " + std::to_string(signals_max_bytes);
  return cap;
}

std::string_view forbidden_ending(std::string_view feed_url) {
  for (const std::string_view ending : feed_key_endings) {
    if (feed_url.ends_with(ending)) return ending;
  }
  return {};
}

}  // namespace feedmill
