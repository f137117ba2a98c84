#include "storage/store.hpp"

#include <array>
#include <charconv>
#include <stdexcept>

#include "storage/scripts.hpp"
#include "storage/store_impl.hpp"

namespace boost::system {
void throw_exception_from_error(const feedmill::StoreError& error, const boost::source_location&) {
  throw std::runtime_error("store: " + error.detail);
}
}  // namespace boost::system

namespace feedmill {
namespace {

constexpr int schema_version = 1;

// In the order of enum Script.
constexpr std::array script_texts{&scripts::add,
                                  &scripts::channel_add,
                                  &scripts::channel_expire,
                                  &scripts::channel_follow,
                                  &scripts::channel_mark,
                                  &scripts::channel_order,
                                  &scripts::channel_prune,
                                  &scripts::channel_remove,
                                  &scripts::channel_unfollow,
                                  &scripts::claim,
                                  &scripts::commit,
                                  &scripts::deliver_lock,
                                  &scripts::deliver_notices,
                                  &scripts::deliver_posts,
                                  &scripts::export_feed,
                                  &scripts::groups,
                                  &scripts::hosts,
                                  &scripts::import_feed,
                                  &scripts::look_up,
                                  &scripts::move,
                                  &scripts::notify_edit,
                                  &scripts::pause,
                                  &scripts::ping,
                                  &scripts::release,
                                  &scripts::remove,
                                  &scripts::repair,
                                  &scripts::resume,
                                  &scripts::settings,
                                  &scripts::slot,
                                  &scripts::unspread,
                                  &scripts::verify_channel,
                                  &scripts::verify_feed,
                                  &scripts::verify_keys,
                                  &scripts::verify_store,
                                  &scripts::wake,
                                  &scripts::watch,
                                  &scripts::websub_begin,
                                  &scripts::websub_claim,
                                  &scripts::websub_deliver,
                                  &scripts::websub_settle,
                                  &scripts::websub_take,
                                  &scripts::websub_verify};

}  // namespace

Store::Impl::Impl(StoreOptions given, RedisAddress address)
    : options(std::move(given)), keys(options.key_prefix), redis(std::move(address), options.timeout) {}

std::string_view info_value(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

std::string server_name(std::string_view info) {
  const std::string_view valkey = info_value(info, "valkey_version");
  return valkey.empty() ? "redis " + std::string(info_value(info, "redis_version")) : "valkey " + std::string(valkey);
}

StoreResult<void> Store::Impl::ready() {
  if (bad_address) return *bad_address;
  const auto fresh = redis.connect();
  if (!fresh) return fresh.error();
  if (*fresh) {
    ++connections;
    if (auto loaded = load_scripts(); !loaded) {
      redis.disconnect();
      return loaded.error();
    }
  }
  return {};
}

StoreResult<void> Store::Impl::load_scripts() {
  hashes_.clear();
  for (const char* const* text : script_texts) redis.append({"SCRIPT", "LOAD", *text});
  std::optional<StoreError> first;
  for (std::size_t i = 0; i < script_texts.size(); ++i) {
    auto hash = redis.next();
    if (!hash && !first) first = hash.error();
    hashes_.emplace_back(hash ? hash->text() : std::string_view());
  }
  if (!first) return {};
  if (first->code == StoreError::Code::bug) {
    return StoreError{StoreError::Code::unsupported,
                      "the server does not take our scripts; Redis 7.0 or Valkey 7.2 is needed: " + first->detail};
  }
  return *first;
}

StoreResult<std::string> Store::Impl::open(bool create) {
  if (bad_address) return *bad_address;
  const auto connected = redis.connect();
  if (!connected) return connected.error();
  const auto info = redis.command({"INFO", "server"});
  if (!info) return info.error();
  const std::string_view version = info_value(info->text(), "redis_version");
  std::string server = server_name(info->text());
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major < 7) {
    return StoreError{StoreError::Code::unsupported, "the server is version " + std::string(version) +
                                                         "; Redis 7.0 or newer or Valkey 7.2 or newer is needed"};
  }
  if (*connected) {
    ++connections;
    if (auto loaded = load_scripts(); !loaded) {
      redis.disconnect();
      return loaded.error();
    }
  }
  const auto memory = redis.command({"INFO", "memory"});
  if (!memory) return memory.error();
  const std::string_view policy = info_value(memory->text(), "maxmemory_policy");
  if (policy != "noeviction" && !options.allow_eviction) {
    return StoreError{StoreError::Code::unsupported,
                      "maxmemory-policy of the server is '" + std::string(policy) +
                          "', which would throw posts away; set it to 'noeviction', or store.allow_eviction=true"};
  }
  const auto type = redis.command({"TYPE", keys.store()});
  if (!type) return type.error();
  if (type->text() == "none") {
    if (!create) return server;
    const auto created = now_text();
    if (!created) return created.error();
    auto written = redis.command(
        {"HSET", keys.store(), "schema", std::to_string(schema_version), "partitions", "1", "created", *created});
    if (!written) return written.error();
    return server;
  }
  const auto schema = redis.command({"HGET", keys.store(), "schema"});
  if (!schema) return schema.error();
  if (schema->integer() > schema_version) {
    return StoreError{StoreError::Code::unsupported, "the store was written by a newer feedmill (schema " +
                                                         std::string(schema->text()) + "); upgrade this one"};
  }
  return server;
}

StoreResult<std::string> Store::Impl::now_text() {
  const auto time = redis.command({"TIME"});
  if (!time) return time.error();
  return std::to_string((*time)[0].integer() * 1000 + (*time)[1].integer() / 1000);
}

void Store::Impl::append(Script script, const Args& args) {
  const std::string schedule = keys.schedule(), none = keys.none();
  Words words{"EVALSHA", hashes_[static_cast<std::size_t>(script)], "2", schedule, none, keys.prefix()};
  words.insert(words.end(), args.words().begin(), args.words().end());
  redis.append(words);
}

std::vector<StoreResult<Reply>> Store::Impl::run_all(Script script, std::span<const Args> calls) {
  std::vector<StoreResult<Reply>> replies;
  replies.reserve(calls.size());
  if (auto connected = ready(); !connected) {
    replies.assign(calls.size(), connected.error());
    return replies;
  }
  for (const Args& args : calls) append(script, args);
  bool forgotten = false;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    replies.push_back(redis.next());
    forgotten = forgotten || (replies.back().has_error() && replies.back().error().detail.starts_with("NOSCRIPT"));
  }
  if (!forgotten) return replies;
  // SCRIPT FLUSH by somebody: nothing of these calls was carried out (RELIABILITY §6).
  if (auto loaded = load_scripts(); !loaded) {
    replies.assign(calls.size(), loaded.error());
    return replies;
  }
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (replies[i].has_error() && replies[i].error().detail.starts_with("NOSCRIPT")) again.push_back(i);
  }
  for (const std::size_t i : again) append(script, calls[i]);
  for (const std::size_t i : again) replies[i] = redis.next();
  return replies;
}

StoreResult<Reply> Store::Impl::run(Script script, const Args& args) {
  return run_all(script, std::span(&args, 1)).front();
}

StoreResult<std::vector<Reply>> Store::Impl::pipeline(std::span<const Words> commands) {
  if (auto connected = ready(); !connected) return connected.error();
  for (const Words& words : commands) redis.append(words);
  std::vector<Reply> replies;
  std::optional<StoreError> first;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto reply = redis.next();
    if (reply)
      replies.push_back(std::move(*reply));
    else if (!first)
      first = reply.error();
  }
  if (first) return *first;
  return replies;
}

Store::Store(StoreOptions options) {
  auto address = parse_redis_url(options.url);
  if (!options.password.empty() && address) address->password = options.password;
  impl_ = std::make_unique<Impl>(std::move(options), address ? *address : RedisAddress{});
  if (!address) impl_->bad_address = address.error();
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

StoreResult<std::string> Store::open(bool create) {
  return impl_->open(create);
}

void Store::disconnect() {
  impl_->redis.disconnect();
}

std::uint64_t Store::reconnects() const {
  return impl_->connections == 0 ? 0 : impl_->connections - 1;
}

StoreResult<Milliseconds> Store::now() {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const auto text = impl_->now_text();
  if (!text) return text.error();
  return Milliseconds(std::stoll(*text));
}

}  // namespace feedmill
