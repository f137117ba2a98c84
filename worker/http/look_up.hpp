// Blocking name resolution for verbs.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include <boost/system/result.hpp>

#include "worker/http/resolver.hpp"

namespace feedmill {

using LookedUp = boost::system::result<Addresses, ResolveError>;

/// Resolves each name to its addresses or an error. Blocks for about `patience` at most; throws Interrupted if the verb
/// is interrupted.
std::map<std::string, LookedUp> look_up(const ResolverOptions& options, const std::set<std::string>& names,
                                        std::chrono::milliseconds patience);

}  // namespace feedmill
