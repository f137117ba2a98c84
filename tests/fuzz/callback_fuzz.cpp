// Any target of a request to a callback, and any reason of a hub → what is made of it keeps its bounds (SECURITY W2,
// W3; WEBSUB S7).
#include <algorithm>

#include "tests/fuzz/invariants.hpp"
#include "worker/push/callback.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace feedmill;
  const std::string_view target = fuzz::view(data, size);
  for (const std::string_view base : {"", "/hooks"}) {
    const CallbackTarget read = read_callback_target(target, base);
    fuzz::require(read.token.empty() || read.token.size() == 26);
    fuzz::require(read.token.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string::npos);
    fuzz::require(read.has_query == (target.find('?') != std::string_view::npos));
    const auto verification = read_verification(read.query);
    if (!verification) continue;
    fuzz::require(verification->mode == "subscribe" || verification->mode == "unsubscribe" ||
                  verification->mode == "denied");
    fuzz::require(!verification->topic.empty());
    if (verification->mode != "denied") {
      fuzz::require(!verification->challenge.empty() && verification->challenge.size() <= 1024);
      for (const char c : verification->challenge) fuzz::require(c >= '!' && c <= '~');
    }
    // What is asked for by us reads back as what was meant.
    PushRecord record;
    record.topic = verification->topic;
    const std::string form = subscription_form(record, "subscribe", "https://me.example/w/x");
    const auto again = read_verification(form + "&hub.challenge=c");
    fuzz::require(!again || again->topic == record.topic);
  }
  const std::string line = one_line(target, 500);
  fuzz::require(line.size() <= 500);
  fuzz::require_clean(line);
  fuzz::require(line.find('\n') == std::string::npos);
  // What stands where a secret might does not come out, however it is hidden.
  PushRecord record;
  record.token = read_callback_target(target, "").token;  // as ours are: letters and digits
  record.secret = "s3cr3t";
  const std::string reason = reason_of_hub(std::string(target), record);
  fuzz::require(reason.size() <= 500);
  fuzz::require_clean(reason);
  fuzz::require(reason.find(record.secret) == std::string::npos);
  fuzz::require(record.token.empty() || reason.find(record.token) == std::string::npos);
  return 0;
}
