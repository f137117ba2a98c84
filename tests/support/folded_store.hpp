// A consumer that keeps a copy of a store by what docs/DATA.md promises: a snapshot, and the events behind it. It
// shares no code with what it follows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <boost/json/object.hpp>

namespace feedmill::test {

class FoldedStore {
 public:
  using Table = std::map<std::string, std::string>;
  /// HGETALL of a key of the store: an entry or a feed's record that an event does not hold. Empty when it is gone.
  using Read = std::function<Table(const std::string& key)>;

  /// `snapshot`: what `store export` wrote. Throws std::runtime_error when it is none.
  FoldedStore(const std::string& snapshot, Read read);

  /// The event that the snapshot goes up to at least: apply all behind it, in order. Stretches may be applied again.
  const std::string& seq() const { return seq_; }
  void apply(const std::string& event);

  /// Where the copy is not as the store is, over all that the contract names; "" when nowhere. Nobody may work on it.
  std::string differs_from(const std::string& redis_url) const;

 private:
  struct Feed {
    Table record{};
    std::string fetch_url{};  // "" = its own URL
  };
  void load_feed(const boost::json::object& line);
  void load_entry(const boost::json::object& line);
  void apply_post(const std::string& type, const boost::json::object& event);
  void apply_feed(const std::string& type, const boost::json::object& event);
  void apply_rekeyed(const boost::json::object& data);

  Read read_;
  std::string seq_, loading_;
  std::map<std::string, Table> posts_;  // by id: all fields but digest and bytes
  std::map<std::string, Feed> feeds_;
};

}  // namespace feedmill::test
