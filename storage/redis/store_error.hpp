// Why a call of the store failed.
#pragma once

#include <string>

#include <boost/system/result.hpp>

namespace feedmill {

/// Why a store call did not do what it was asked to (RELIABILITY §6). `detail` is for people and holds no secret.
struct StoreError {
  enum class Code {
    unavailable,    ///< refused, reset, no such socket: try again later
    timeout,        ///< no answer in time: it may or may not have been carried out
    loading,        ///< LOADING, BUSY, TRYAGAIN, CLUSTERDOWN, MASTERDOWN: try again soon
    out_of_memory,  ///< OOM
    misconfigured,  ///< MISCONF, NOREPLICAS: the server cannot write
    read_only,      ///< READONLY: a replica
    auth,           ///< NOAUTH, WRONGPASS, NOPERM, unknown command
    tls,            ///< no encrypted connection that both sides trust: certificates, or no TLS there
    refused,        ///< a key of the wrong type, an argument the store does not take
    unsupported,    ///< server too old, evicting policy, URL scheme we do not speak: an operator must act
    bug             ///< an answer that cannot be
  };
  Code code{};
  std::string detail;
};

template <class T>
using StoreResult = boost::system::result<T, StoreError>;

}  // namespace feedmill

namespace boost::system {
/// What value() of a result without one throws: std::runtime_error.
[[noreturn]] void throw_exception_from_error(const feedmill::StoreError& error, const boost::source_location& where);
}  // namespace boost::system
