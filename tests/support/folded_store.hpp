// A consumer that maintains a copy of a store as docs/DATA.md describes: from a snapshot and the events after it. It
// shares no code with the product.
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
  /// HGETALL on a key of the store, for an entry or a feed's record that an event does not include. Empty if the key is
  /// gone.
  using Read = std::function<Table(const std::string& key)>;

  /// `snapshot`: the output of `store export`. Throws std::runtime_error if it is incomplete or something else.
  FoldedStore(const std::string& snapshot, Read read);

  /// The snapshot covers at least the events up to this id; apply all later ones, in order. A range of events may be
  /// applied twice.
  const std::string& seq() const { return seq_; }
  void apply(const std::string& event);

  /// Differences between the copy and the store in everything that the contract covers; "" if there are none. The store
  /// must be idle.
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
  std::map<std::string, Table> posts_;  // by id; all fields but digest and bytes
  std::map<std::string, Feed> feeds_;
};

}  // namespace feedmill::test
