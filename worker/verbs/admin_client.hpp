// Queries the admin listener of the local worker, for verbs. Blocks; one connection per request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "worker/config/config.hpp"

namespace feedmill {

/// A response. If there is none, status is 0 and `body` has the reason.
struct AdminAnswer {
  int status = 0;
  std::string body;
};

/// A client of the admin listener.
class AdminClient {
 public:
  /// For the configured listener (admin.listen, admin.token_file), on loopback if it is bound to all addresses. Throws
  /// VerbFailure if none is configured.
  static AdminClient open(const Config& config);

  /// GET `target`, with the token if set, within 5 s. `go_on` is called ten times a second and may cancel the request
  /// by returning false or throwing; the status is then 0. Reads at most 4 MiB.
  AdminAnswer get(const std::string& target, const std::function<bool()>& go_on = {}) const;

  /// get() for the configured partition (RELIABILITY L27), whether the worker serves all partitions or only that one.
  AdminAnswer get_of_store(const std::string& target, const std::function<bool()>& go_on = {}) const;

  /// The address and port of the connection: "127.0.0.1:9810".
  std::string address() const;
  /// Error message for a response with status 0: address, reason and remedy.
  std::string nobody(const AdminAnswer& answer) const;

 private:
  AdminClient(boost::asio::ip::tcp::endpoint endpoint, std::string token, std::optional<std::uint32_t> partition)
      : endpoint_(std::move(endpoint)), token_(std::move(token)), partition_(partition) {}

  boost::asio::ip::tcp::endpoint endpoint_;
  std::string token_;
  std::optional<std::uint32_t> partition_;
};

}  // namespace feedmill
