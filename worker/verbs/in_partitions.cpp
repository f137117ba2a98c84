#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/store/partition.hpp"
#include "worker/base/exits.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/verbs/commands.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;
using Kind = OperationField::Kind;

/// A verb's values and where they belong.
class InShares {
 public:
  using Work = std::function<int(const OperationValues& share, const Config& config)>;

  InShares(const VerbRow& verb, const OperationValues& given, const Config& config, const Work& work)
      : verb_(verb), given_(given), config_(config), work_(work), count_(config.redis.partitions) {}

  int at(unsigned partition, const OperationValues& share) const {
    return work_(share, config_.of_partition(partition));
  }
  int at(unsigned partition) const { return at(partition, given_); }

  int at_each(Terminal& terminal) const {
    int code = exits::done;
    for (unsigned i = 0; i < count_; ++i) {
      if (!terminal.json()) terminal.line(fmt::format("partition {} of {}:", i, count_));
      code = std::max(code, at(i));
      terminal.flush();
      if (code == exits::configuration) break;  // the others would say the same
    }
    return code;
  }

  int of_feeds(const OperationField& field) const {
    Shares shares;
    for (const std::string& url : given_.texts(field.name)) {
      const auto canonical = canonical_feed_url(url);
      if (!canonical) return at(0);  // where all of it is refused
      shares[partition_of(*canonical, count_)].push_back(url);
    }
    // If a partition lacks a feed, its error must come before any change in another.
    int code = exits::done;
    for (auto share = shares.begin(); verb_.wants_known_feeds && share != shares.end() && shares.size() > 1;) {
      if (has_all(config_, share->first, share->second)) {
        ++share;
        continue;
      }
      code = at_share(field, *share);
      if (code != exits::done) return code;
      share = shares.erase(share);
    }
    return std::max(code, at_shares(field, shares));
  }

  int of_entries(const OperationField& field) const {
    Shares shares;
    std::optional<unsigned> lacks;
    for (const std::string& id : field.repeats ? given_.texts(field.name) : std::vector{given_.text(field.name)}) {
      const auto its = partition_with_entry(config_, id);
      const unsigned partition = its.value_or(partition_of_entry(id, count_));
      if (!its) lacks = partition;
      shares[partition].push_back(id);
    }
    if (lacks) shares = {*shares.find(*lacks)};  // it reports the error, and nothing is changed
    return at_shares(field, shares);
  }

  int of_feed(const OperationField& field) const {
    const auto canonical = canonical_feed_url(given_.text(field.name));
    return at(canonical ? partition_of(*canonical, count_) : 0);
  }

 private:
  using Shares = std::map<unsigned, std::vector<std::string>>;

  int at_share(const OperationField& field, const Shares::value_type& share) const {
    OperationValues own = given_;
    if (field.repeats) own.put(field.name, json::array(share.second.begin(), share.second.end()));
    return at(share.first, own);
  }
  int at_shares(const OperationField& field, const Shares& shares) const {
    int code = exits::done;
    for (const auto& share : shares) code = std::max(code, at_share(field, share));
    return code;
  }

  const VerbRow& verb_;
  const OperationValues& given_;
  const Config& config_;
  const Work& work_;
  const unsigned count_;
};

}  // namespace

int in_partitions(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                  const std::function<int(const OperationValues& share, const Config& config)>& work) {
  const InShares shared(verb, given, config, work);
  for (const OperationField& field : verb.fields) {
    if (!given.has(field.name)) continue;
    if (field.kind == Kind::address && field.repeats) return shared.of_feeds(field);
    if (field.kind == Kind::entry) return shared.of_entries(field);
    if ((field.kind == Kind::address || field.kind == Kind::feed) && !field.repeats) return shared.of_feed(field);
  }
  if (verb.is_of_each != nullptr && verb.is_of_each(given)) return shared.at_each(terminal);
  return work(given, config);
}

}  // namespace feedmill
