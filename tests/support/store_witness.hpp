// Looks at a store without the product's code and says what is wrong with it: the invariants of RELIABILITY §2 against
// what a publisher really said.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/ground_truth.hpp"

namespace feedmill::test {

enum class Stage {
  any,        ///< whatever was going on when it stopped
  caught_up,  ///< every document of the publisher has been stored, nobody works, everything is delivered
  restored    ///< the same after Redis has lost a suffix: what has left the documents meanwhile is out of reach
};

/// Each way in which the store is not as it must be, in words: RELIABILITY I1–I6, I11, I13 and I15, every post
/// once in the store and created once in the stream. `timeline`: a channel that follows all feeds, "" for none. The
/// feeds' trims are those of the default retention. Empty when all is well.
std::vector<std::string> wrongs(const std::string& redis_url, const GroundTruth& truth, Stage stage,
                                const std::string& timeline = "");
/// The same as one text, a line each, at most twenty.
std::string wrongs_text(const std::string& redis_url, const GroundTruth& truth, Stage stage,
                        const std::string& timeline = "");

/// A digest of each key that refreshing and delivering writes, worker's own keys and hosts' apart. The server must have
/// been started with "--enable-debug-command yes".
std::map<std::string, std::string> fingerprint(const std::string& redis_url);

}  // namespace feedmill::test
