// Errors of store calls.
#pragma once

#include <string>

#include <boost/system/result.hpp>

namespace feedmill {

/// Why a store call failed (RELIABILITY §6). `detail` is for people and holds no secrets.
struct StoreError {
  enum class Code {
    unavailable,    ///< refused, reset, no such socket: try again later
    timeout,        ///< no reply in time: the command may or may not have run
    loading,        ///< LOADING, BUSY, TRYAGAIN, CLUSTERDOWN, MASTERDOWN: try again soon
    out_of_memory,  ///< OOM
    misconfigured,  ///< MISCONF, NOREPLICAS: the server cannot write
    read_only,      ///< READONLY: a replica
    auth,           ///< NOAUTH, WRONGPASS, NOPERM, unknown command
    tls,            ///< no mutually trusted encryption: bad certificates, or a server without TLS
    refused,        ///< a key of the wrong type, or an invalid argument
    unsupported,    ///< server too old, evicting policy, unknown URL scheme: an operator must act
    bug             ///< an impossible reply
  };
  Code code{};
  std::string detail;
};

template <class T>
using StoreResult = boost::system::result<T, StoreError>;

}  // namespace feedmill

namespace boost::system {
/// Thrown by value() of a failed result: std::runtime_error.
[[noreturn]] void throw_exception_from_error(const feedmill::StoreError& error, const boost::source_location& where);
}  // namespace boost::system
