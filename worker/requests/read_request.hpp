// A record of stream:requests as a value (docs/REQUESTS.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/given_entry.hpp"
#include "storage/requests/requests.hpp"
#include "storage/timelines/notifications.hpp"

namespace feedmill {

inline constexpr std::size_t most_channels_of_request = 500;  ///< that are put into an order
inline constexpr std::size_t most_entries_of_request = 500;   ///< that are marked

/// Why a request cannot be carried out, as its answer says it.
struct RequestProblem {
  std::string_view reason;
  std::string detail;  ///< for people, cleaned
};

/// What is asked for, checked as far as it can be without the store.
struct Request {
  Asked asked;
  RequestOp op{};
  std::string url;      ///< canonical
  std::string to;       ///< likewise; of move
  std::string channel;  ///< "" = none
  enum class Page {
    no,
    one,
    first
  } page = Page::no;  ///< add: whether `url` may be a page, and which of its feeds is meant
  std::string title;
  std::vector<std::string> settings;  ///< "key=value", as `feedmill set` takes them
  std::vector<std::string> entries;   ///< ids; of channel_mark none means all
  bool unread = false;                ///< channel_mark, notice_mark: the other way round
  bool undo = false;                  ///< move
  bool replace = false;               ///< entry_put: what is not given goes
  GivenEntry entry;
  std::vector<std::string> channels;  ///< channel_order
  std::vector<std::string> notices;   ///< ids; of notice_mark none means all
  Watch watch;                        ///< of notice_mark and watch_remove the user, of that the id

  std::optional<RequestProblem> problem;  ///< it is to be answered with this
};

/// Reads whatever stands in the stream: what makes no sense is in `problem`, and `asked` can be answered all the same.
/// Pure; linear.
Request read_request(const RequestRecord& record);

}  // namespace feedmill
