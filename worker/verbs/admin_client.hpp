// Asks the admin listener of the worker that runs here, for verbs: blocking, one question a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "worker/config/config.hpp"

namespace feedmill {

/// What the listener answered; status 0 when it did not, `body` says why.
struct AdminAnswer {
  int status = 0;
  std::string body;
};

class AdminClient {
 public:
  /// The listener of this configuration (admin.listen, admin.token_file), on loopback when it listens on all
  /// addresses. Throws VerbFailure where there is none to ask.
  static AdminClient open(const Config& config);

  /// GET `target`, with the token if there is one, 5 seconds at most. `go_on` is asked ten times a second and may end
  /// the question by saying no or by throwing; it is no answer then. More than 4 MiB are not read.
  AdminAnswer get(const std::string& target, const std::function<bool()>& go_on = {}) const;

  /// The same of the partition that is meant (RELIABILITY L27), whether the worker serves all of them or that one.
  AdminAnswer get_of_store(const std::string& target, const std::function<bool()>& go_on = {}) const;

  /// "127.0.0.1:9810", as asked.
  std::string address() const;
  /// One sentence on an answer with status 0: who does not answer, why, what to do.
  std::string nobody(const AdminAnswer& answer) const;

 private:
  AdminClient(boost::asio::ip::tcp::endpoint endpoint, std::string token, std::optional<std::uint32_t> partition)
      : endpoint_(std::move(endpoint)), token_(std::move(token)), partition_(partition) {}

  boost::asio::ip::tcp::endpoint endpoint_;
  std::string token_;
  std::optional<std::uint32_t> partition_;
};

}  // namespace feedmill
