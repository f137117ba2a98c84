// A post as JSON that an operator or a program gives.
#pragma once

#include <string>

#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include "storage/records/given_entry.hpp"

namespace feedmill {

/// The object that `entry --json` prints, or part of it → a post. `feed_url` and `guid` win over the members of that
/// name unless they are "". What follows from the rest, or is counted by the store, is passed over. An error says what
/// is wrong, and may hold a name as it was given. Pure; linear.
boost::system::result<GivenEntry, std::string> read_given_entry(const boost::json::value& value,
                                                                const std::string& feed_url, const std::string& guid);

}  // namespace feedmill
