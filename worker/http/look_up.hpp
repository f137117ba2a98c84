// Names looked up by somebody who has nothing else to do: verbs.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include <boost/system/result.hpp>

#include "worker/http/resolver.hpp"

namespace feedmill {

using LookedUp = boost::system::result<Addresses, ResolveError>;

/// The addresses of each name, or why there are none. Blocks for at most about `patience`; throws Interrupted when the
/// verb is interrupted meanwhile.
std::map<std::string, LookedUp> look_up(const ResolverOptions& options, const std::set<std::string>& names,
                                        std::chrono::milliseconds patience);

}  // namespace feedmill
