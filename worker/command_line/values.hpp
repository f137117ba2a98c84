// Values of flags and arguments: text → what it means, or one line that says what is wrong with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "storage/timelines/channels.hpp"

namespace feedmill {

/// ", did you mean NAME?" when one of `names` is near, else "".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

/// Throws CLI::ValidationError: the command line is wrong, and `text` says why. So do all below.
[[noreturn]] void refuse(std::string text);

/// A whole number within bounds.
std::uint64_t number(std::string_view flag, const std::string& text, std::uint64_t least, std::uint64_t most);

/// Checks that `text` is one of `names`.
void one_of(std::string_view flag, const std::string& text, std::span<const std::string_view> names);

/// "1763689990:Entry:17", as `entries` tells it.
EntryCursor cursor(const std::string& text);

/// Checks for "$", "0", "1763690000000" or "1763690000000-3".
void check_stream_id(const std::string& text);

/// A duration within bounds; `such` is one for an example.
std::chrono::milliseconds duration(std::string_view flag, const std::string& text, std::chrono::milliseconds least,
                                   std::chrono::milliseconds most, std::string_view such);

/// "Name: value".
std::pair<std::string, std::string> header(const std::string& text);

/// "title=First", a field of an entry: looked at here, so that nothing is stored of a list with a mistake in it.
std::pair<std::string, std::string> assignment(const std::string& text);

/// Checks that `name` may be that of a `what`, a channel or a user; of what is to be stored by one of the other checks
/// of channels.hpp.
void check_name(std::string_view what, const std::string& name,
                std::string_view (*unfit)(std::string_view) = unfit_name);

/// Checks that each may name a post: "17" or "Entry:17".
void check_entries(const std::vector<std::string>& ids);

/// Checks each "key=value" that is to be set for a feed, and all together.
void check_changes(const std::vector<std::string>& changes);

/// What may be set for a feed, but header.NAME.
std::vector<std::string_view> feed_setting_keys();

/// The states of a feed, and the types of signals that exist (HTTP §4, DESIGN §4).
std::span<const std::string_view> feed_states();
std::span<const std::string_view> event_types();

}  // namespace feedmill
