#include "worker/admin/bearer.hpp"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

constexpr std::string_view token = "a-token-of-our-own";

TEST(Bearer, TakesTheTokenAsBearerOrAsPassword) {
  EXPECT_TRUE(shows_token("Bearer a-token-of-our-own", token));
  EXPECT_TRUE(shows_token("bearer  a-token-of-our-own ", token));
  EXPECT_TRUE(shows_token("Basic bWU6YS10b2tlbi1vZi1vdXItb3du", token));  // me:a-token-of-our-own
  EXPECT_TRUE(shows_token("Basic OmEtdG9rZW4tb2Ytb3VyLW93bg==", token));  // :a-token-of-our-own
}

TEST(Bearer, TakesNothingElse) {
  for (const char* const header : {"",
                                   " ",
                                   "Bearer",
                                   "Bearer ",
                                   "a-token-of-our-own",
                                   "Bearer a-token-of-our-ow",
                                   "Bearer a-token-of-our-own2",
                                   "Bearer A-token-of-our-own",
                                   "Digest a-token-of-our-own",
                                   "Basic a-token-of-our-own",
                                   "Basic",
                                   "Basic =",
                                   "Basic ====",
                                   "Basic ========",
                                   "Basic =AAA",
                                   "Basic bWU6",
                                   "Basic YS10b2tlbi1vZi1vdXItb3du",  // no colon
                                   "Basic bWU6YS10b2tlbi1vZi1vdXItb3duMg==",
                                   "Basic !!!!",
                                   "Bearer a-token-of-our-own, Bearer x"})
    EXPECT_FALSE(shows_token(header, token)) << header;
}

}  // namespace
}  // namespace feedmill
