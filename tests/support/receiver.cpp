// A webhook and hub subscriber in a process of its own, which tests kill. It accepts every POST and confirms every hub
// verification. Before it responds to a POST it appends it to a file, as one JSON object per line:
// {"path":…,"id":…,"body":…}, with the header webhook-id as `id`.
//   feedmill_test_receiver PORT FILE       PORT 0 takes a free one; prints "port N" once it listens
#include <cstdlib>
#include <iostream>
#include <string>

#include <boost/json.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/http_ask.hpp"
#include "tests/support/http_server.hpp"

namespace feedmill::test {
namespace {

/// The challenge to echo to a hub; "" if the request is not a verification.
std::string challenge_in(const std::string& target) {
  const auto query = target.find('?');
  if (query == std::string::npos) return "";
  for (const auto& [name, value] : form_fields(target.substr(query + 1))) {
    if (name == "hub.challenge") return value;
  }
  return "";
}

int serve(std::uint16_t port, const char* file) {
  const int log = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return EXIT_FAILURE;
  HttpServer server(port);
  server.forget_requests();
  server.serve_rest([log](const ServedRequest& request) {
    if (request.method != "POST") return Response{.body = challenge_in(request.target)};
    const boost::json::object line{
        {"path", request.target}, {"id", request.header("webhook-id")}, {"body", request.body}};
    const std::string text = boost::json::serialize(line) + "\n";
    const bool noted = ::write(log, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    return Response{.status = noted ? 202 : 500};
  });
  std::cout << "port " << server.port() << std::endl;
  for (;;) ::pause();
}

}  // namespace
}  // namespace feedmill::test

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  try {
    return feedmill::test::serve(static_cast<std::uint16_t>(std::atoi(argv[1])), argv[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
