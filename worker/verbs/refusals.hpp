// What the egress policy refuses, said to whoever gives the address.
#pragma once

#include <string>
#include <vector>

#include "worker/config/feed_settings.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Says on stderr which of these addresses will never be requested, and why: the worker would say so when nobody looks.
/// Looks up at most 20 names, for 2 s; of more addresses only those that hold an IP address are judged.
void warn_of_refusals(const std::vector<std::string>& urls, const FeedSettings& settings, const VerbContext& context);

}  // namespace feedmill
