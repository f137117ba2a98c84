#include "parsers/read_feed.hpp"

namespace feedmill {

boost::system::result<Feed, ParseError> read_feed(std::string_view, const DocumentHints&) {
  return ParseError{ParseError::Code::not_a_feed, "unread"};
}

}  // namespace feedmill
