// Documentation generated from the option table: a sample file and a reference page.
#pragma once

#include <string>

namespace feedmill {

/// feedmill.toml with every option, commented out at its default, and a sentence about each.
std::string sample_config();

/// All options as Markdown.
std::string config_reference();

}  // namespace feedmill
