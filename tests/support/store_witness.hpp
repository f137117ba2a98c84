// Inspects a store without the product's code and reports faults: the invariants of RELIABILITY §2 against the content
// that a publisher really served.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/ground_truth.hpp"

namespace feedmill::test {

enum class Stage {
  any,        ///< any state at the time of the stop
  caught_up,  ///< every document of the publisher is stored, no worker is active, everything is delivered
  restored    ///< as caught_up after Redis lost a suffix: posts since dropped from the documents cannot be recovered
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
