// Waits until commits are durable (RELIABILITY L18).
#include <charconv>
#include <random>

#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// Whether the server has WAITAOF: from 7.2 on; Valkey always, as its first version reports Redis 7.2.
bool knows_waitaof(std::string_view version) {
  int major = 0, minor = 0;
  const auto [dot, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc() || dot == version.data() + version.size()) return false;
  std::from_chars(dot + 1, version.data() + version.size(), minor);
  return major > 7 || (major == 7 && minor >= 2);
}

}  // namespace

StoreResult<void> Store::Impl::check_durability(std::string_view version) {
  if (options.durability != Durability::fsync) return {};
  const auto persistence = redis.command({"INFO", "persistence"});
  if (!persistence) return persistence.error();
  if (info_value(persistence->text(), "aof_enabled") != "1") {
    return StoreError{StoreError::Code::unsupported,
                      "store.durability=fsync needs an append-only file: set appendonly yes on the server"};
  }
  if (knows_waitaof(version)) {
    const auto may = redis.command({"WAITAOF", "0", "0", "1"});
    if (!may) return may.error();
    return {};
  }
  const auto policy = redis.command({"CONFIG", "GET", "appendfsync"});
  if (!policy) {
    return StoreError{StoreError::Code::unsupported,
                      "store.durability=fsync on a server before 7.2 needs the right to see its appendfsync (grant "
                      "+config|get): " +
                          policy.error().detail};
  }
  if ((*policy)[1].text() == "always") return {};
  return StoreError{StoreError::Code::unsupported,
                    "store.durability=fsync on a server before 7.2 needs appendfsync always; it is " +
                        std::string((*policy)[1].text())};
}

StoreResult<void> Store::Impl::settle(bool marked) {
  if (options.durability == Durability::ack) return {};
  const bool replica = options.durability == Durability::replica;
  const std::uint64_t connection = redis.connections();
  if (!replica && !waitaof_) {
    const auto info = redis.command({"INFO", "server"});
    if (!info) return info.error();
    waitaof_ = knows_waitaof(info_value(info->text(), "redis_version"));
  }
  if (!replica && !*waitaof_) return {};  // appendfsync always: replies follow the write to disk
  if (!marked) {
    // The server waits for this connection's last write, which after a dup may be unrelated.
    const std::string key = keys.trial(std::to_string(std::random_device()()));
    if (const auto mark = redis.command({"SET", key, "1", "PX", "1000"}); !mark) return mark.error();
  }
  const std::string longest = std::to_string(options.timeout.count() / 2);
  const auto waited = replica ? redis.command({"WAIT", "1", longest}) : redis.command({"WAITAOF", "1", "0", longest});
  if (!waited) return waited.error();
  if (redis.connections() != connection)
    return StoreError{StoreError::Code::timeout, "written, but another server may serve by now (store.durability)"};
  if ((replica ? waited->integer() : (*waited)[0].integer()) >= 1) return {};
  return StoreError{StoreError::Code::timeout, std::string("written, but ") +
                                                   (replica ? "no replica has it" : "it is not on the server's disk") +
                                                   " within " + longest + " ms (store.durability)"};
}

}  // namespace feedmill
