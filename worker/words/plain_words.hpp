// Explains in sentences why a feed is due when it is, and the remedy for a failure (HTTP E2).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace feedmill {

/// All codes of DueTime::reason (HTTP §11), each with its own sentence.
std::span<const std::string_view> due_codes();

/// Explains DueTime::why and its reason: "By its pace about every 4 h: 12 posts a week. Never more often than every 10
/// min." Never empty. Not cleaned: part of it may be a server's text.
std::string schedule_words(std::string_view why, std::string_view due_reason);

/// `text` as one shell word, quoted if needed. Required for untrusted text in commands to copy.
std::string shell_word(std::string_view text);

/// The remedy for a feed that fails for `reason` (HTTP §11), as a sentence; "" if the only one is to wait. Its commands
/// contain the feed's URL.
std::string remedy_words(std::string_view reason, std::string_view feed_url);

}  // namespace feedmill
