// The parse contract's command line around read_feed, for checking the library without the rest of the program.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "parsers/document_json.hpp"
#include "parsers/read_feed.hpp"

namespace {

struct Answer {
  int status = 0;
  std::string out, err;
};

Answer parse(const std::vector<std::string>& arguments) {
  std::string url, content_type, location, language, file;
  feedmill::HtmlPolicy html = feedmill::HtmlPolicy::strict;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool more = i + 1 < arguments.size();
    if (argument == "--raw-html") {
      html = feedmill::HtmlPolicy::raw;
    } else if (argument == "--html-policy" && more) {
      if (html != feedmill::HtmlPolicy::raw && arguments[++i] == "classic") html = feedmill::HtmlPolicy::classic;
    } else if (argument == "--url" && more) {
      url = arguments[++i];
    } else if (argument == "--content-type" && more) {
      content_type = arguments[++i];
    } else if (argument == "--header" && more) {
      const std::string& header = arguments[++i];
      const std::size_t colon = header.find(':');
      const std::string value = colon == std::string::npos ? "" : header.substr(header.find_first_not_of(": ", colon));
      if (header.starts_with("Content-Location")) location = value;
      if (header.starts_with("Content-Language")) language = value;
    } else {
      file = argument;
    }
  }
  std::ifstream in(file, std::ios::binary);
  const std::string body{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto feed = feedmill::read_feed(body, {url, content_type, location, language, html, true});
  if (feed.has_error()) return {1, {}, feed.error().detail};
  return {0, feedmill::document_json(feed.value()), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.front() != "--pipe") {
    const Answer answer = parse(arguments);
    if (answer.status == 0) std::cout << answer.out << '\n';
    if (answer.status != 0) std::cerr << answer.err << '\n';
    return answer.status;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const boost::json::value request = boost::json::parse(line);
    std::vector<std::string> words;
    for (const boost::json::value& word : request.at("argv").as_array()) words.emplace_back(word.as_string());
    const Answer answer = parse(words);
    std::cout << boost::json::serialize(
                     boost::json::object{{"rc", answer.status}, {"out", answer.out}, {"err", answer.err}})
              << std::endl;
  }
  return 0;
}
