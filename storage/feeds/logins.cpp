#include "storage/feeds/logins.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// The stored form: one line for each member but the name.
std::string record_of(const FeedLogin& login) {
  std::string record;
  for (const std::string& member : {login.origin, login.user, login.header, login.by, std::to_string(login.at.count())})
    record.append(member).append("\n");
  return record + login.header_line;
}

FeedLogin login_of(std::string_view owner, std::string_view name, std::string_view record) {
  std::array<std::string, 5> members;
  for (std::string& member : members) {
    const std::size_t end = std::min(record.find('\n'), record.size());
    member = record.substr(0, end);
    record.remove_prefix(std::min(end + 1, record.size()));
  }
  auto& [origin, user, header, by, at] = members;
  return {std::string(owner).append("/").append(name),
          std::move(origin),
          std::move(user),
          std::move(header),
          std::move(by),
          Milliseconds(leading_number<std::int64_t>(at)),
          std::string(record)};
}

}  // namespace

std::string_view owner_of_login(std::string_view name) {
  return name.substr(0, name.find('/'));
}

std::string_view own_name_of_login(std::string_view name) {
  return name.substr(std::min(name.find('/'), name.size() - 1) + 1);
}

Logins::Logins(Store& store)
    : first_(store.partition().index == 0 ? std::optional<Store>() : std::optional<Store>(store.options_at(0))),
      impl_(first_ ? first_->impl() : store.impl()) {}

StoreResult<bool> Logins::put(const FeedLogin& login) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string owner(owner_of_login(login.name)), name(own_name_of_login(login.name));
  const std::string key = impl_.keys.logins(owner), owners = impl_.keys.login_owners();
  const auto count = impl_.redis.command({"HLEN", key});
  if (!count) return count.error();
  if (static_cast<std::size_t>(count->integer()) >= most_of_owner) {
    const auto known = impl_.redis.command({"HGET", key, name});
    if (!known) return known.error();
    if (known->is_nil()) return false;
  }
  // An owner without logins is harmless, a login that the operator cannot list is not.
  if (const auto listed = impl_.redis.command({"SADD", owners, owner}); !listed) return listed.error();
  const std::string record = record_of(login);
  if (const auto put = impl_.redis.command({"HSET", key, name, record}); !put) return put.error();
  return true;
}

StoreResult<bool> Logins::remove(const std::string& name) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.logins(owner_of_login(name)), own(own_name_of_login(name));
  const auto removed = impl_.redis.command({"HDEL", key, own});
  if (!removed) return removed.error();
  return removed->integer() > 0;
}

StoreResult<std::optional<FeedLogin>> Logins::find(const std::string& name) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.logins(owner_of_login(name)), own(own_name_of_login(name));
  const auto reply = impl_.redis.command({"HGET", key, own});
  if (!reply) return reply.error();
  if (reply->is_nil()) return std::optional<FeedLogin>();
  return std::optional(login_of(owner_of_login(name), own, reply->text()));
}

StoreResult<std::vector<FeedLogin>> Logins::list(const std::string& owner, const std::string& after,
                                                 std::size_t limit) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  std::vector<std::string> owners{owner};
  if (owner.empty()) {
    const std::string key = impl_.keys.login_owners();
    const auto all = impl_.redis.command({"SMEMBERS", key});
    if (!all) return all.error();
    owners = all->texts();
    std::ranges::sort(owners);
  }
  const std::string last_owner(owner_of_login(after)), last_name(own_name_of_login(after));
  std::vector<FeedLogin> logins;
  for (const std::string& one : owners) {
    if (one < last_owner || logins.size() == limit) continue;
    const std::string key = impl_.keys.logins(one);
    const auto records = impl_.redis.command({"HGETALL", key});
    if (!records) return records.error();
    const Fields pairs = records->pairs();
    const std::map<std::string, std::string> sorted(pairs.begin(), pairs.end());
    for (const auto& [name, record] : sorted) {
      if (logins.size() == limit) break;
      if (one == last_owner && name <= last_name) continue;
      logins.push_back(login_of(one, name, record));
      logins.back().header_line.clear();
    }
  }
  return logins;
}

}  // namespace feedmill
