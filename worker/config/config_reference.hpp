// The configuration in words, made from its table: a file to start from, and a page to look things up in.
#pragma once

#include <string>

namespace feedmill {

/// feedmill.toml with every option, commented out at its default, and a sentence about it.
std::string sample_config();

/// All options as Markdown.
std::string config_reference();

}  // namespace feedmill
