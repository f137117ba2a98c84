// Reads a post from JSON that an operator or a program gives.
#pragma once

#include <string>

#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include "storage/records/given_entry.hpp"

namespace feedmill {

/// Reads a post from an object as printed by `entry --json`, or a part of one. `feed_url` and `guid`, unless "",
/// override its members. Derived members and those that the store counts are ignored. An error explains the problem and
/// may contain a name as given. Pure; linear.
boost::system::result<GivenEntry, std::string> read_given_entry(const boost::json::value& value,
                                                                const std::string& feed_url, const std::string& guid);

}  // namespace feedmill
