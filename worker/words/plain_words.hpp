// Why a feed is due when it is, and what to do about a failure, in whole sentences (HTTP E2).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace feedmill {

/// All codes that DueTime::reason may have (HTTP §11). Each has a sentence of its own.
std::span<const std::string_view> due_codes();

/// "By its pace about every 4 h: 12 posts a week. Never more often than every 10 min." of what DueTime::why and its
/// reason hold. Never empty, whatever they are. Not cleaned: part of it may be what a server said.
std::string schedule_words(std::string_view why, std::string_view due_reason);

/// `text` as one word of a shell: quoted where it must be. What strangers wrote stands in commands to copy in no other
/// way.
std::string shell_word(std::string_view text);

/// What somebody who runs the worker can do about a feed that fails for `reason` (HTTP §11), a sentence; "" when there
/// is nothing but to wait. The feed's address stands in the commands that it names.
std::string remedy_words(std::string_view reason, std::string_view feed_url);

}  // namespace feedmill
