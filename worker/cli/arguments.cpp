#include "worker/cli/arguments.hpp"

#include <CLI/CLI.hpp>

namespace feedmill {
namespace {

/// The name without "=VALUE", because CLI11 accepts only letters.
std::string plain(const std::string& name) {
  return name.substr(0, name.find('='));
}

}  // namespace

Arguments::Arguments(CLI::App& app, CommandNode& node) : app_(app), node_(node) {
  add_flag("-h,--help", "", "Show help; after a verb, help for that verb");  // for the texts; CLI11 parses it
}

void Arguments::argument(const OperationField& field, std::vector<std::string>& to) {
  const std::string name(field.unit);
  CLI::Option* const option = app_.add_option(plain(name), to);
  if (!field.repeats) option->expected(1)->allow_extra_args(false);
  const bool required = field.required && !field.either;
  last_ = &node_.arguments.emplace_back(CommandArgument{name, std::string(field.about), required, field.repeats, {}})
               .values;
}

void Arguments::flag(const std::string& names, bool& to, const std::string& about) {
  app_.add_flag(names, to);
  add_flag(names, "", about);
}

void Arguments::flag(const std::string& names, std::function<void()> given, const std::string& about) {
  app_.add_flag_callback(names, std::move(given));
  add_flag(names, "", about);
}

void Arguments::value(const std::string& name, const std::string& unit, const Read& read, const std::string& about) {
  app_.add_option_function<std::string>(name, read)->type_name(unit);
  add_flag(name, unit, about);
}

void Arguments::values(const std::string& name, const std::string& unit, Read each, const std::string& about) {
  const auto all = [each = std::move(each)](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) each(text);
  };
  app_.add_option_function<std::vector<std::string>>(name, all)->allow_extra_args(false)->type_name(unit);
  add_flag(name, unit, about);
}

void Arguments::among(std::span<const std::string_view> words, std::string_view suffix) {
  for (const std::string_view word : words) last_->words.push_back(std::string(word).append(suffix));
}

void Arguments::among_channels() {
  last_->channels = true;
}

void Arguments::add_flag(const std::string& names, const std::string& unit, const std::string& about) {
  CommandFlag& flag = node_.flags.emplace_back();
  flag.names = CLI::detail::split(names, ',');
  flag.value = unit;
  flag.about = about;
  flag.group = group_;
  last_ = &flag.values;
}

}  // namespace feedmill
