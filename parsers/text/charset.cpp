#include "parsers/text/charset.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <iconv.h>
#include <simdjson.h>

#include "parsers/text/charset_tables.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using namespace std::string_view_literals;

// Code points of windows-1252 above 0x7F; 0x80–0x9F come from the table in entities.cpp.
std::uint32_t windows_1252_character(unsigned char byte) {
  return byte < 0xA0 ? repaired_character(byte) : byte;
}

// Decodes an encoding of one byte per character; `upper`: the code points of the bytes above 0x7F.
template <class Upper>
std::string decode_bytes(std::string_view bytes, Upper upper) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 8);
  for (const char c : bytes) {
    if (is_ascii(c)) {
      out += c;
    } else {
      append_utf8(out, upper(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

std::string decode_windows_1252(std::string_view bytes) {
  return decode_bytes(bytes, [](unsigned char byte) {
    const std::uint32_t code = windows_1252_character(byte);
    return code != 0 ? code : byte;
  });
}

// A label without quotes, in lower case, at most 64 characters.
std::string normal_label(std::string_view label) {
  label = trim(label);
  while (!label.empty() && (label.front() == '"' || label.front() == '\'')) label.remove_prefix(1);
  while (!label.empty() && (label.back() == '"' || label.back() == '\'')) label.remove_suffix(1);
  std::string result = lower(trim(label).substr(0, 64));
  for (char& c : result) {
    if (c <= ' ' || c > '~') c = '?';  // keeps the label safe to print
  }
  return result;
}

// Removes the year from ISO labels (iso_8859_2_1987) and turns bare code page numbers (1251) into names that iconv
// knows; iso-ir-101 stays unchanged.
std::string spelled_for_iconv(std::string dashed) {
  if (dashed.find_first_not_of("0123456789") == std::string::npos) return "cp" + dashed;
  if (istarts_with(dashed, "windows-")) return "cp" + dashed.substr(8);
  if (istarts_with(dashed, "iso8859-")) dashed.insert(3, "-");
  if (istarts_with(dashed, "iso-8859-")) return dashed.substr(0, dashed.find('-', 9));
  return dashed;
}

const ByteTable* find_byte_table(std::string_view name) {
  const auto* table = std::find_if(std::begin(byte_tables), std::end(byte_tables),
                                   [&](const ByteTable& candidate) { return candidate.label == name; });
  return table == std::end(byte_tables) ? nullptr : table;
}

std::string iconv_name(const std::string& label) {
  std::string dashed = label;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const Alias& alias : aliases) {
    if (alias.label == label || alias.label == dashed) return std::string(alias.iconv_name);
  }
  // Only plain names are passed on: "/", "," and the empty name have special meanings in iconv. UTF-7 can hide markup.
  if (dashed.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.:()") != std::string::npos) return {};
  if (dashed.empty() || dashed.find("utf-7") != std::string::npos || dashed.find("utf7") != std::string::npos) {
    return {};
  }
  return spelled_for_iconv(dashed);
}

class Iconv {
 public:
  explicit Iconv(const std::string& from) : handle_(iconv_open("UTF-8", from.c_str())) {}
  ~Iconv() {
    if (valid()) iconv_close(handle_);
  }
  Iconv(const Iconv&) = delete;
  Iconv& operator=(const Iconv&) = delete;

  // As POSIX defines it.  NOLINTNEXTLINE(performance-no-int-to-ptr)
  bool valid() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  // Whether the encoding uses one byte per character.
  bool is_one_byte() {
    std::string text;
    for (unsigned byte = 0x80; byte < 0x100; ++byte) {
      char c = static_cast<char>(byte);
      char* in = &c;
      std::size_t left = 1;
      if (convert_piece(&in, &left, text) == EINVAL) return false;
      convert_piece(nullptr, nullptr, text);
    }
    return true;
  }

  // Decodes `bytes`; `bad` counts the bytes that failed, each replaced by U+FFFD. Stops where the text would exceed
  // limits::decoded_multiple; the remaining bytes count as bad.
  //
  // Converts in pieces so short that their text always fits: glibc loses track of some charsets if it runs out of room
  // between two characters of one code, and then emits the second one forever (Shift_JISX0213: 82 F5).
  std::string convert(std::string_view bytes, std::size_t& bad) {
    const std::size_t most = limits::decoded_multiple * bytes.size() + buffer_.size();
    std::string out;
    out.reserve(bytes.size() + bytes.size() / 2);
    char* in = const_cast<char*>(bytes.data());  // iconv's signature; it does not write through it
    std::size_t left = bytes.size();
    while (left > 0) {
      if (out.size() > most) {
        bad += left;
        return out;
      }
      const std::size_t piece = std::min(left, most_piece);
      std::size_t unread = piece;
      const int problem = convert_piece(&in, &unread, out);
      left -= piece - unread;
      if (unread == 0 || (problem == EINVAL && unread < piece && unread < left))
        continue;  // the next piece includes the unread bytes
      append_utf8(out, 0xFFFD);
      ++bad;
      ++in;
      --left;
    }
    convert_piece(nullptr, nullptr, out);  // flushes a character that iconv holds back
    return out;
  }

 private:
  static constexpr std::size_t most_piece = 1024;

  // Returns iconv's errno, 0 on success.
  int convert_piece(char** in, std::size_t* left, std::string& out) {
    char* to = buffer_.data();
    std::size_t room = buffer_.size();
    const std::size_t result = iconv(handle_, in, left, &to, &room);
    const int problem = result == static_cast<std::size_t>(-1) ? errno : 0;
    out.append(buffer_.data(), buffer_.size() - room);
    return problem;
  }

  iconv_t handle_;
  std::array<char, 16 * most_piece> buffer_{};
};

// The UTF-8 text with every maximal invalid part replaced by one U+FFFD (Unicode §3.9).
std::string replace_invalid(std::string_view bytes, std::size_t& bad) {
  std::string out;
  out.reserve(bytes.size() + 64);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    std::size_t good = length == 0 ? 0 : 1;
    while (good > 0 && good < length && at + good < bytes.size()) {
      const auto next = static_cast<unsigned char>(bytes[at + good]);
      const unsigned low = good > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned high = good > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (next < low || next > high) break;
      ++good;
    }
    if (length != 0 && good == length) {
      out.append(bytes.substr(at, length));
    } else {
      append_utf8(out, 0xFFFD);
      ++bad;
    }
    at += good == 0 ? 1 : good;
  }
  return out;
}

bool valid_utf8(std::string_view bytes) {
  return simdjson::validate_utf8(bytes.data(), bytes.size());
}

// Whether UTF-8 text contains characters from U+E000 to U+F8FF.
bool has_private_characters(std::string_view text) {
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead == 0xEE || (lead == 0xEF && static_cast<unsigned char>(text[at + 1]) < 0xA4)) return true;
  }
  return false;
}

// Decodes by `label`; empty if the label is unknown. Adds the number of undecodable sequences to `bad`.
std::optional<std::string> decode_as(std::string_view bytes, const std::string& label, std::size_t& bad) {
  const std::string name = iconv_name(label);
  if (name.empty()) return std::nullopt;
  if (name == "UTF-8") {
    if (valid_utf8(bytes)) return std::string(bytes);
    return replace_invalid(bytes, bad);
  }
  if (name == "CP1252") return decode_windows_1252(bytes);
  if (name == "HZ") return decode_as(hz_to_gb2312(bytes), "gb18030", bad);
  if (const ByteTable* table = find_byte_table(name)) {
    return decode_bytes(bytes, [&](unsigned char byte) { return table->upper[byte - 0x80U]; });
  }
  Iconv converter(name);
  if (!converter.valid()) return std::nullopt;
  std::string text = converter.convert(bytes, bad);
  if (name == "CP950" && has_private_characters(text)) {  // kana and Cyrillic, undefined in Microsoft's table
    std::size_t bad_there = 0;
    std::optional<std::string> there = decode_as(bytes, "big5", bad_there);
    if (there && bad_there == 0) return there;
  }
  return text;
}

// Whether the encoding uses one byte per character.
bool is_one_byte(const std::string& name) {
  if (name == "CP1252" || find_byte_table(name) != nullptr) return true;
  if (name.empty() || name == "HZ") return false;
  Iconv converter(name);
  return converter.valid() && converter.is_one_byte();
}

// Whether bytes are valid UTF-8 with at least two sequences, which text in a single-byte encoding hardly ever is.
bool is_surely_utf8(std::string_view bytes) {
  const auto begins = [](char c) { return static_cast<unsigned char>(c) >= 0xC2; };
  return std::count_if(bytes.begin(), bytes.end(), begins) >= 2 && valid_utf8(bytes);
}

// The encoding family that a document's first bytes show: the label of its UTF-16 or UTF-32 form, "" if
// ASCII-compatible.
std::string_view family(std::string_view body) {
  if (body.starts_with("\0\0\0<"sv)) return "utf-32be";
  if (body.starts_with("<\0\0\0"sv)) return "utf-32le";
  if (body.starts_with("\0<"sv)) return "utf-16be";
  if (body.starts_with("<\0"sv)) return "utf-16le";
  return {};
}

struct Mark {
  std::string_view bytes, label;
};

constexpr Mark marks[] = {{"\xEF\xBB\xBF"sv, "utf-8"},
                          {"\0\0\xFE\xFF"sv, "utf-32be"},
                          {"\xFF\xFE\0\0"sv, "utf-32le"},
                          {"\xFE\xFF"sv, "utf-16be"},
                          {"\xFF\xFE"sv, "utf-16le"}};

// The encoding named in an XML declaration at the start of `head` (ASCII-compatible).
std::string_view declared_encoding(std::string_view head) {
  std::size_t start = 0;
  while (start < head.size() && is_space(head[start])) ++start;
  head.remove_prefix(start);
  if (!head.starts_with("<?xml")) return {};
  const std::size_t end = head.find('>');
  head = head.substr(0, std::min<std::size_t>(end, 512));
  const std::size_t at = head.find("encoding");
  if (at == std::string_view::npos) return {};
  head.remove_prefix(at + 8);
  head = head.substr(std::min(head.size(), head.find_first_not_of(" \t\r\n=")));
  if (head.empty() || (head.front() != '"' && head.front() != '\'')) return {};
  const char quote = head.front();
  head.remove_prefix(1);
  return head.substr(0, head.find(quote));
}

// Every second or fourth byte of a UTF-16 or UTF-32 document, which gives its declaration as ASCII.
std::string narrow(std::string_view body, std::string_view label) {
  const std::size_t width = label.starts_with("utf-32") ? 4 : 2;
  const std::size_t offset = label.ends_with("be") ? width - 1 : 0;
  std::string out;
  for (std::size_t at = offset; at < body.size() && out.size() < 512; at += width) out += body[at];
  return out;
}

// Kinds of bytes in a text that need a closer look; most texts contain none.
struct Suspects {
  bool controls = false;  // C0 except TAB and LF, and DEL
  bool lead_ef = false;   // the first byte of noncharacters
  bool lead_c2 = false;   // the first byte of U+0080 … U+00BF
};

// Finds all kinds in one pass, sixteen bytes at a time.
Suspects find_suspects(std::string_view text) {
  using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
  Bytes controls{}, lead_ef{}, lead_c2{};
  const auto look = [&](Bytes c) {
    controls |= reinterpret_cast<Bytes>(((c < 0x20) & (c != '\t') & (c != '\n')) | (c == 0x7F));
    lead_ef |= reinterpret_cast<Bytes>(c == 0xEF);
    lead_c2 |= reinterpret_cast<Bytes>(c == 0xC2);
  };
  Bytes c;
  std::size_t at = 0;
  for (; at + sizeof(Bytes) <= text.size(); at += sizeof(Bytes)) {
    std::memcpy(&c, text.data() + at, sizeof(Bytes));
    look(c);
  }
  std::memset(&c, ' ', sizeof(Bytes));
  std::memcpy(&c, text.data() + at, text.size() - at);
  look(c);
  const auto any = [](const Bytes& found) {
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(found);
    return (halves[0] | halves[1]) != 0;
  };
  return {any(controls), any(lead_ef), any(lead_c2)};
}

// CR LF and CR become LF.
void unify_line_ends(std::string& text) {
  char* to = text.data();
  const char* from = text.data();
  const char* const end = from + text.size();
  while (from < end) {
    const void* found = std::memchr(from, '\r', static_cast<std::size_t>(end - from));
    const char* stop = found == nullptr ? end : static_cast<const char*>(found);
    std::memmove(to, from, static_cast<std::size_t>(stop - from));
    to += stop - from;
    from = stop;
    if (from == end) break;
    ++from;
    if (from == end || *from != '\n') *to++ = '\n';
  }
  text.resize(static_cast<std::size_t>(to - text.data()));
}

bool has_noncharacters(std::string_view text) {
  for (std::size_t i = text.find("\xEF\xBF"); i != npos; i = text.find("\xEF\xBF", i + 2)) {
    if (i + 2 < text.size() && static_cast<unsigned char>(text[i + 2]) >= 0xBE) return true;
  }
  return false;
}

// Makes line ends LF and removes forbidden characters (SECURITY X3). Legal but useless ones (DEL) are removed without
// being counted. True if the text changed.
bool clean(std::string& text, const Suspects& found, std::size_t& dropped) {
  const bool line_ends = found.controls && text.find('\r') != std::string::npos;
  if (line_ends) unify_line_ends(text);
  const bool controls = found.controls && (!line_ends || find_suspects(text).controls);
  if (!controls && !(found.lead_ef && has_noncharacters(text))) return line_ends;
  static constexpr ByteSet suspects(
      std::string_view("\x00\x01\x02\x03\x04\x05\x06\x07\b\v\f\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b"
                       "\x1c\x1d\x1e\x1f\x7f\xEF",
                       31));
  std::size_t to = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(suspects.find_in(text, at), text.size());
    std::memmove(text.data() + to, text.data() + at, next - at);
    to += next - at;
    at = next;
    if (at == text.size()) break;
    const auto c = static_cast<unsigned char>(text[at]);
    if (c != 0xEF) {
      dropped += c == 0x7F ? 0 : 1;
      ++at;
    } else if (at + 2 < text.size() && text[at + 1] == '\xBF' && static_cast<unsigned char>(text[at + 2]) >= 0xBE) {
      ++dropped;
      at += 3;
    } else {
      text[to++] = text[at++];
    }
  }
  text.resize(to);
  return true;
}

bool has_c1_controls(std::string_view text) {
  for (std::size_t at = text.find('\xC2'); at != npos; at = text.find('\xC2', at + 2)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0) return true;
  }
  return false;
}

// Whether values in the text may need repair_mojibake(): the text has a C1 control, or a Latin letter before a
// character from windows-1252's 0x80 … 0xBF, as UTF-8 read as Latin-1 or windows-1252 does.
bool may_hold_mojibake(std::string_view text) {
  if (has_c1_controls(text)) return true;
  for (std::size_t at = text.find('\xC3'); at != std::string_view::npos; at = text.find('\xC3', at + 2)) {
    if (at + 2 >= text.size()) break;
    const auto letter = static_cast<unsigned char>(text[at + 1]);
    if (letter >= 0x82 && letter <= 0xB4 && "\xC2\xC5\xC6\xCB\xE2"sv.find(text[at + 2]) != std::string_view::npos)
      return true;
  }
  return false;
}

// Removes the first character of a text and returns its byte in windows-1252, or in Latin-1 below U+0100; empty for
// other characters.
std::optional<char> take_windows_byte(std::string_view& text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = at(0) < 0x80 ? 1 : at(0) < 0xE0 ? 2 : 3;
  if (at(0) >= 0xF0 || text.size() < length) return std::nullopt;
  std::uint32_t code = length == 1 ? at(0) : at(0) & (length == 2 ? 0x1FU : 0xFU);
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (at(i) & 0x3FU);
  text.remove_prefix(length);
  if (code < 0x100) return static_cast<char>(code);
  for (unsigned char byte = 0x80; byte < 0xA0; ++byte) {
    if (windows_1252_character(byte) == code) return static_cast<char>(byte);
  }
  return std::nullopt;
}

// Whether valid UTF-8 bytes are likely meant as UTF-8. Two such bytes may also be "É" before a closing
// quote.
bool is_likely_utf8(std::string_view text) {
  const auto is = [&](auto test) {
    return std::count_if(text.begin(), text.end(), [&](char c) { return test(static_cast<unsigned char>(c)); });
  };
  return is([](unsigned char c) { return c == 0xC2 || c == 0xC3 || c >= 0xE0; }) > 0 ||
         is([](unsigned char c) { return c >= 0xC4; }) > 1;
}

struct Candidate {
  std::string label;
  EncodingRule from;
};

}  // namespace

std::string_view rule_name(EncodingRule rule) {
  constexpr std::string_view names[] = {"the byte order mark", "the Content-Type header",
                                        "the XML declaration", "the first bytes",
                                        "the default",         "what the bytes look like"};
  return names[static_cast<std::size_t>(rule)];
}

std::string_view charset_parameter(std::string_view content_type) {
  std::string_view rest = content_type;
  take_until(rest, ';');
  while (!rest.empty()) {
    std::string_view value = take_until(rest, ';');
    const std::string_view name = trim(take_until(value, '='));
    if (!iequals(name, "charset")) continue;
    value = trim(value);
    while (!value.empty() && (value.front() == '"' || value.front() == '\'' || value.front() == ' ')) {
      value.remove_prefix(1);
    }
    return value.substr(0, value.find_first_of("\"' "));
  }
  return {};
}

Decoded decode_document(std::string_view body, std::string_view content_type) {
  Decoded result;
  std::vector<Candidate> candidates;
  std::string_view wide;
  for (const Mark& mark : marks) {
    if (body.starts_with(mark.bytes)) {
      body.remove_prefix(mark.bytes.size());
      candidates.push_back({std::string(mark.label), EncodingRule::byte_order_mark});
      wide = mark.label == "utf-8" ? std::string_view{} : mark.label;
      break;
    }
  }
  if (wide.empty()) wide = family(body);
  // A label of the UTF-16 or UTF-32 family must fit the width of the units that the bytes show; the bytes also decide
  // the byte order.
  const auto add = [&](std::string_view raw, EncodingRule from) {
    std::string label = normal_label(raw);
    if (label.empty()) return;
    const std::string name = iconv_name(label);
    if (name.starts_with("UTF-16") || name.starts_with("UTF-32")) {
      const bool same_width = !wide.empty() && istarts_with(wide, name.substr(0, 6));
      if (same_width && (name.size() == 6 || iequals(name, wide))) label = wide;
    }
    candidates.push_back({std::move(label), from});
  };
  add(charset_parameter(content_type), EncodingRule::content_type);
  const std::string narrowed = wide.empty() ? std::string{} : narrow(body, wide);
  add(declared_encoding(wide.empty() ? body.substr(0, 1024) : narrowed), EncodingRule::declaration);
  const bool declared = !candidates.empty();
  if (!wide.empty()) candidates.push_back({std::string(wide), EncodingRule::first_bytes});
  candidates.push_back({"utf-8", EncodingRule::standard});

  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const std::string name = iconv_name(candidate.label);
    const bool is_wide = name.starts_with("UTF-16") || name.starts_with("UTF-32");
    if (is_wide == wide.empty()) continue;  // contradicts the bytes
    if (name == "UTF-8" && !valid_utf8(body)) continue;
    if (name != "UTF-8" && !is_wide && is_surely_utf8(body) && is_one_byte(name)) continue;
    std::size_t bad = 0;
    // UTF-8 is valid here: invalid bytes were skipped above.
    std::optional<std::string> text = name == "UTF-8" ? std::string(body) : decode_as(body, candidate.label, bad);
    if (!text || (bad > 0 && !(is_wide && i + 2 >= candidates.size()))) continue;
    result.text = *std::move(text);
    result.encoding = candidate.label;
    result.replaced = bad;
    result.rule = candidate.from;
    if (i > 0 && declared && candidate.from != EncodingRule::first_bytes) {
      const bool same = iconv_name(candidates.front().label) == name;
      if (!same) result.bozo = Bozo::encoding_override;
    }
    if (bad > 0) result.bozo = Bozo::encoding_override;
    const bool ascii = candidate.label == "us-ascii" || candidate.label == "ascii";
    if (ascii && result.text.size() != body.size()) result.bozo = Bozo::encoding_override;
    break;
  }
  if (result.encoding.empty()) {
    // No candidate fits. Mostly valid UTF-8 with a few broken sequences stays UTF-8; otherwise the charset is detected.
    std::size_t bad = 0;
    std::string repaired = replace_invalid(body, bad);
    const auto multibyte = static_cast<std::size_t>(
        std::count_if(body.begin(), body.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xC2; }));
    const bool utf8_promised = !declared || iconv_name(candidates.front().label) == "UTF-8";
    if (utf8_promised && bad * 8 < multibyte) {
      result.text = std::move(repaired);
      result.encoding = "utf-8";
      result.replaced = bad;
    } else {
      result.encoding = detect_charset(body);
      result.rule = EncodingRule::detected;
      bad = 0;
      result.text = decode_as(body, result.encoding, bad).value_or(std::string{});
      result.replaced = bad;
    }
    result.bozo = Bozo::encoding_override;
  }
  if (result.bozo != Bozo::none) {
    if (declared && iconv_name(candidates.front().label) != iconv_name(result.encoding)) {
      result.named = candidates.front().label;
      result.named_by = candidates.front().from;
    }
    result.detail = declared
                        ? candidates.front().label + " was named by " +
                              std::string(rule_name(candidates.front().from)) + ", " + result.encoding + " was used"
                        : "no encoding was named, " + result.encoding + " was used";
  }
  if (result.text.starts_with("\xEF\xBB\xBF")) result.text.erase(0, 3);
  const Suspects found = find_suspects(result.text);
  const bool changed = clean(result.text, found, result.dropped);
  result.verbatim =
      !changed && result.text.size() == body.size() && iconv_name(result.encoding) == "UTF-8" && result.replaced == 0;
  result.mojibake = found.lead_c2 && may_hold_mojibake(result.text);
  if (result.dropped > 0 && result.bozo == Bozo::none) {
    result.bozo = Bozo::malformed_xml;
    result.detail = std::to_string(result.dropped) + " forbidden characters";
  }
  return result;
}

void repair_mojibake(std::string& value) {
  std::string_view rest = value;
  std::string inner;
  // If all characters are in windows-1252, their bytes may be UTF-8.
  for (;;) {
    std::size_t ascii = 0;
    while (ascii < rest.size() && is_ascii(rest[ascii])) ++ascii;
    if (ascii == value.size()) return;
    inner.append(rest.substr(0, ascii));
    rest.remove_prefix(ascii);
    if (rest.empty()) break;
    const std::optional<char> byte = take_windows_byte(rest);
    if (!byte) break;
    inner += *byte;
  }
  if (rest.empty() && valid_utf8(inner) && is_likely_utf8(inner)) {
    std::size_t dropped = 0;
    clean(inner, find_suspects(inner), dropped);
    value = std::move(inner);
    return;
  }
  if (!has_c1_controls(value)) return;
  std::string out;
  out.reserve(value.size() + 16);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto c = static_cast<unsigned char>(value[i]);
    if (c == 0xC2 && i + 1 < value.size() && static_cast<unsigned char>(value[i + 1]) < 0xA0) {
      const std::uint32_t code = repaired_character(static_cast<unsigned char>(value[++i]));
      if (code != 0) append_utf8(out, code);
    } else {
      out += value[i];
    }
  }
  value = std::move(out);
}

}  // namespace feedmill
