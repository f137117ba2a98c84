#include "tests/browser/vectors.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string_view>

namespace feedmill::test {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view payload = "<img src=x onerror=alert(1)>";

constexpr std::array elements = {
    "a"sv,      "abbr"sv,     "area"sv,     "audio"sv,   "b"sv,      "base"sv,     "blockquote"sv, "body"sv,
    "br"sv,     "button"sv,   "canvas"sv,   "caption"sv, "center"sv, "col"sv,      "details"sv,    "dialog"sv,
    "div"sv,    "embed"sv,    "font"sv,     "form"sv,    "frame"sv,  "frameset"sv, "h1"sv,         "hr"sv,
    "html"sv,   "iframe"sv,   "image"sv,    "img"sv,     "input"sv,  "isindex"sv,  "keygen"sv,     "label"sv,
    "li"sv,     "link"sv,     "marquee"sv,  "math"sv,    "menu"sv,   "meta"sv,     "noscript"sv,   "object"sv,
    "ol"sv,     "option"sv,   "p"sv,        "picture"sv, "portal"sv, "pre"sv,      "q"sv,          "ruby"sv,
    "script"sv, "select"sv,   "source"sv,   "span"sv,    "style"sv,  "summary"sv,  "svg"sv,        "table"sv,
    "td"sv,     "template"sv, "textarea"sv, "title"sv,   "tr"sv,     "track"sv,    "ul"sv,         "video"sv,
    "wbr"sv,    "x-y"sv,      "svg:rect"sv, "xss"sv};

constexpr std::array handlers = {
    "onabort"sv,   "onanimationend"sv, "onauxclick"sv,  "onbeforeinput"sv, "onbegin"sv,     "onblur"sv,
    "oncanplay"sv, "onchange"sv,       "onclick"sv,     "oncopy"sv,        "ondrag"sv,      "onend"sv,
    "onerror"sv,   "onfocus"sv,        "onfocusin"sv,   "onhashchange"sv,  "oninput"sv,     "oninvalid"sv,
    "onkeydown"sv, "onload"sv,         "onloadstart"sv, "onmessage"sv,     "onmouseover"sv, "onpageshow"sv,
    "onplay"sv,    "onpointerenter"sv, "onpopstate"sv,  "onprogress"sv,    "onresize"sv,    "onscroll"sv,
    "onsearch"sv,  "onselect"sv,       "onstart"sv,     "onsubmit"sv,      "ontoggle"sv,    "ontransitionrun"sv,
    "onunload"sv,  "onwebkitfoo"sv,    "onwheel"sv,     "style"sv,         "srcdoc"sv,      "formaction"sv};

// Separators between a name and the next attribute.
constexpr std::array separators = {" "sv,        "/"sv,      "\n"sv,   "\t"sv,     "\f"sv,   " / "sv,
                                   " x=\"y\""sv, " x='>'"sv, "\r\n"sv, " \"\" "sv, " =x "sv, "//"sv};

// What surrounds an attribute's value: `before` starts it, `after` ends it.
struct Quotes {
  std::string_view before, after;
};
constexpr std::array quotes = {Quotes{"=", ""},    Quotes{"=\"", "\""},         Quotes{"='", "'"},
                               Quotes{"=`", "`"},  Quotes{" = \"", "\""},       Quotes{"\n=\n'", "'"},
                               Quotes{"=\"", ""},  Quotes{"=&quot;", "&quot;"}, Quotes{"=\"", "\"x"},
                               Quotes{"=''", "''"}};

constexpr std::array calls = {
    "alert(1)"sv,       "top.alert(1)"sv,        "confirm`1`"sv,      "&#97;lert(1)"sv, "alert&lpar;1&rpar;"sv,
    "a\\u006cert(1)"sv, "javascript:alert(1)"sv, "[1].find(alert)"sv, "throw 1"sv};

// Elements with special parsing rules for their content.
constexpr std::array containers = {
    "annotation-xml"sv, "applet"sv,        "button"sv, "caption"sv,  "comment"sv,   "desc"sv,    "details"sv,
    "dialog"sv,         "foreignObject"sv, "form"sv,   "frameset"sv, "head"sv,      "iframe"sv,  "listing"sv,
    "marquee"sv,        "math"sv,          "mglyph"sv, "mi"sv,       "mtext"sv,     "noembed"sv, "noframes"sv,
    "noscript"sv,       "object"sv,        "option"sv, "p"sv,        "plaintext"sv, "pre"sv,     "ruby"sv,
    "script"sv,         "select"sv,        "style"sv,  "svg"sv,      "table"sv,     "td"sv,      "template"sv,
    "textarea"sv,       "title"sv,         "video"sv,  "xmp"sv,      "a"sv};

constexpr std::array schemes = {"javascript"sv, "vbscript"sv, "data"sv,        "livescript"sv, "mocha"sv,
                                "jscript"sv,    "file"sv,     "blob"sv,        "about"sv,      "filesystem"sv,
                                "feed"sv,       "jar"sv,      "view-source"sv, "http"sv,       "https"sv,
                                "ftp"sv,        "mailto"sv,   "tel"sv,         "ws"sv,         "chrome"sv,
                                "resource"sv,   "x"sv,        "ms-its"sv,      "intent"sv,     "cid"sv};

// Elements with an attribute that takes a URL.
struct UrlPlace {
  std::string_view element, attribute;
};
constexpr std::array url_places = {
    UrlPlace{"a", "href"},        UrlPlace{"img", "src"},          UrlPlace{"area", "href"},
    UrlPlace{"video", "poster"},  UrlPlace{"video", "src"},        UrlPlace{"audio", "src"},
    UrlPlace{"source", "src"},    UrlPlace{"iframe", "src"},       UrlPlace{"embed", "src"},
    UrlPlace{"object", "data"},   UrlPlace{"form", "action"},      UrlPlace{"button", "formaction"},
    UrlPlace{"input", "src"},     UrlPlace{"q", "cite"},           UrlPlace{"blockquote", "cite"},
    UrlPlace{"ins", "cite"},      UrlPlace{"table", "background"}, UrlPlace{"td", "background"},
    UrlPlace{"img", "longdesc"},  UrlPlace{"img", "dynsrc"},       UrlPlace{"img", "lowsrc"},
    UrlPlace{"img", "srcset"},    UrlPlace{"source", "srcset"},    UrlPlace{"a", "ping"},
    UrlPlace{"base", "href"},     UrlPlace{"link", "href"},        UrlPlace{"script", "src"},
    UrlPlace{"svg", "href"},      UrlPlace{"a", "xlink:href"},     UrlPlace{"command", "icon"},
    UrlPlace{"img", "usemap"},    UrlPlace{"p", "xml:base"},       UrlPlace{"p", "lang"},
    UrlPlace{"time", "datetime"}, UrlPlace{"source", "type"},      UrlPlace{"source", "media"},
    UrlPlace{"img", "width"},     UrlPlace{"img", "sizes"},        UrlPlace{"th", "scope"},
    UrlPlace{"ol", "type"}};

constexpr std::array styles = {"color: red"sv,
                               "width: expression(alert(1))"sv,
                               "background: url(javascript:alert(1))"sv,
                               "background: url(x)"sv,
                               "background:u\\72l(x)"sv,
                               "-moz-binding: url(x)"sv,
                               "behavior: url(x)"sv,
                               "position: fixed"sv,
                               "margin: 5px"sv,
                               "font: 12px 'x'"sv,
                               "font-family: 'a;b'"sv,
                               "color: red; }*{color:blue"sv,
                               "color:/**/red"sv,
                               "color: red !important"sv,
                               "border: 1px solid red"sv,
                               "border: 1px solid url(x)"sv,
                               "display: none"sv,
                               "@import url(x)"sv,
                               "background: #fff"sv,
                               "padding: -1px"sv,
                               "background-color: rgb(1,2,3)"sv,
                               "background: rgb(1,2)url(x)"sv,
                               "font-size: 1e9em"sv,
                               "cursor: url(x)"sv,
                               "float:left;float:right"sv,
                               "a:b:c"sv,
                               "color: \"&quot;\""sv,
                               "content: '\\22'"sv,
                               "url:url(x)"sv};

constexpr std::array texts = {"x"sv,
                              "&lt;"sv,
                              "&amp;lt;"sv,
                              "&"sv,
                              "<"sv,
                              ">"sv,
                              "\""sv,
                              "'"sv,
                              "`"sv,
                              "--"sv,
                              "-->"sv,
                              "--!>"sv,
                              "<!--"sv,
                              "<!---"sv,
                              "]]>"sv,
                              "<![CDATA["sv,
                              "<?x"sv,
                              "<!x"sv,
                              "&#x0;"sv,
                              "&#60;"sv,
                              "&notit;"sv,
                              "\xC2\xA0"sv,
                              "\n"sv,
                              " "sv,
                              "/>"sv,
                              "</"sv,
                              "<a"sv,
                              "=\""sv,
                              "\xF0\x9F\x98\x80"sv,
                              "&#128;"sv,
                              "&lt;script&gt;alert(1)&lt;/script&gt;"sv,
                              "<!-- x -->"sv,
                              "<!-->"sv};

constexpr std::array inert = {
    "b"sv,   "i"sv,        "em"sv,      "p"sv,       "div"sv,   "span"sv,   "ul"sv,     "ol"sv,         "li"sv,
    "dl"sv,  "dt"sv,       "dd"sv,      "table"sv,   "tbody"sv, "tr"sv,     "td"sv,     "th"sv,         "caption"sv,
    "col"sv, "colgroup"sv, "thead"sv,   "a"sv,       "pre"sv,   "h1"sv,     "figure"sv, "blockquote"sv, "ruby"sv,
    "rt"sv,  "rp"sv,       "details"sv, "summary"sv, "font"sv,  "center"sv, "video"sv,  "picture"sv,    "source"sv,
    "hr"sv,  "br"sv,       "wbr"sv,     "menu"sv,    "main"sv,  "q"sv,      "nav"sv};

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

std::string number(unsigned value, unsigned radix) {
  std::string digits;
  for (; value != 0; value /= radix) {
    digits.insert(digits.begin(), "0123456789abcdef"[value % radix]);
  }
  return digits;
}

// A scheme and its colon, spelt in one of the ways that browsers, old and new, accept or do not.
constexpr int spellings = 18;
std::string spelled(std::string_view scheme, int spelling) {
  const std::string_view head = scheme.substr(0, scheme.size() / 2), tail = scheme.substr(scheme.size() / 2);
  std::string out;
  switch (spelling) {
    case 0:
      return join({scheme, ":"});
    case 1:
      for (std::size_t i = 0; i < scheme.size(); ++i)
        out += i % 2 == 0 && scheme[i] != '-' ? static_cast<char>(scheme[i] & ~0x20) : scheme[i];
      return out + ":";
    case 2:
      return join({" \t\n", scheme, ":"});
    case 3:
      return join({"\x01\x1f", scheme, ":"});
    case 4:
      return join({head, "\t", tail, ":"});
    case 5:
      return join({head, "\n", tail, "\r:"});
    case 6:
      return join({head, "&Tab;", tail, "&NewLine;:"});
    case 7:
      return join({scheme, "&colon;"});
    case 8:
      for (const char c : scheme) out += "&#" + number(static_cast<unsigned char>(c), 10) + ";";
      return out + ":";
    case 9:
      for (const char c : scheme) out += "&#x" + number(static_cast<unsigned char>(c), 16);
      return out + "&#x3a";
    case 10:
      for (const char c : scheme) out += "&#0000" + number(static_cast<unsigned char>(c), 10);
      return out + "&#58;";
    case 11:
      return join({head, "\0"sv, tail, ":"});
    case 12:
      return join({"&#0;", scheme, ":"});
    case 13:
      return join({"\xC2\xA0", scheme, ":"});
    case 14:
      return join({scheme, "://%0a"});
    case 15:
      return join({scheme, ":\\\\u:p@base.example\\"});
    case 16:
      return join({scheme, "%3a"});
    default:
      return join({head, "\xE2\x80\x8B", tail, ":"});
  }
}

// Content that seems to end inside content of another kind: only a parser that knows both kinds finds the payload.
constexpr int nestings = 8;
std::string nested(std::string_view outer, std::string_view inner, int nesting) {
  const std::string open = join({"<", outer, "><", inner, ">"});
  switch (nesting) {
    case 0:
      return join({open, payload, "</", inner, "></", outer, ">"});
    case 1:
      return join({open, "<p title=\"</", outer, ">", payload, "\">"});
    case 2:
      return join({open, "<!--</", outer, ">", payload, "--></", inner, ">"});
    case 3:
      return join({open, "</", outer, ">", payload, "</", inner, ">"});
    case 4:
      return join({open, "&lt;/", inner, "&gt;&lt;img src=x onerror=alert(1)&gt;</", inner, "></", outer, ">"});
    case 5:
      return join({"<", outer, "><!-- <", inner, "></", outer, "><script>alert(1)</script> --></", outer, ">"});
    case 6:
      return join({open, "<![CDATA[</", inner, "></", outer, ">", payload, "]]>"});
    default:
      return join(
          {open, "<style><!--</style><a title=\"--&gt;", payload, "\"></", outer, "><b title='</", inner, ">'>"});
  }
}

template <class Table>
auto pick(std::mt19937_64& random, const Table& table) {
  return table[random() % std::size(table)];
}

void add_attribute(std::string& out, std::mt19937_64& random) {
  out += pick(random, separators);
  const Quotes around = pick(random, quotes);
  std::string value;
  switch (random() % 7) {
    case 0:
      out += pick(random, handlers);
      value = pick(random, calls);
      break;
    case 1:
      out += "style";
      for (auto count = random() % 3 + 1; count > 0; --count) value.append(pick(random, styles)).append(";");
      break;
    case 2:
      out += pick(random, std::array{"title"sv, "alt"sv, "id"sv, "name"sv, "class"sv, "lang"sv, "value"sv, "dir"sv});
      for (auto count = random() % 4; count > 0; --count) value += pick(random, texts);
      break;
    case 3:
      out += pick(random, std::array{"srcset"sv, "sizes"sv, "type"sv, "datetime"sv, "for"sv, "form"sv, "is"sv});
      for (auto count = random() % 3 + 1; count > 0; --count)
        value += spelled(pick(random, schemes), static_cast<int>(random() % spellings)) + "//x/y 1x, ";
      break;
    case 4:
      out +=
          pick(random, std::array{"open"sv, "controls"sv, "reversed"sv, "autofocus"sv, "checked"sv, "x:y"sv, "\""sv});
      return;
    default:
      out += pick(random, url_places).attribute;
      value = spelled(pick(random, schemes), static_cast<int>(random() % spellings)) + "//base.example/" +
              std::string(pick(random, calls));
      break;
  }
  out.append(around.before).append(value).append(around.after);
}

void add_piece(std::string& out, std::mt19937_64& random) {
  switch (random() % 12) {
    case 0:
      out += payload;
      return;
    case 1:
      out += nested(pick(random, containers), pick(random, containers), static_cast<int>(random() % nestings));
      return;
    case 2:
      out.append("</").append(pick(random, containers)).append(">");
      return;
    case 3:
      out.append("</").append(pick(random, inert)).append(">");
      return;
    case 4:
    case 5:
      out += pick(random, texts);
      return;
    case 6:
      out.append("<").append(pick(random, containers)).append(">");
      return;
    case 7:
    case 8:
      out.append("<").append(pick(random, inert)).append(">");
      return;
    default: {
      out.append("<").append(random() % 2 == 0 ? pick(random, elements) : pick(random, inert));
      for (auto count = random() % 4; count > 0; --count) add_attribute(out, random);
      out += pick(random, std::array{">"sv, ">"sv, ">"sv, "/>"sv, " >"sv, ""sv, "<"sv});
      return;
    }
  }
}

}  // namespace

std::vector<std::string> cheat_sheet_vectors() {
  std::ifstream file(FEEDMILL_BROWSER_TEST_DATA "/cheat_sheet.txt");
  if (!file) throw std::runtime_error("no " FEEDMILL_BROWSER_TEST_DATA "/cheat_sheet.txt");
  std::vector<std::string> vectors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("# ")) continue;
    std::string vector;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t close = line.compare(at, 2, "{{") == 0 ? line.find("}}", at) : std::string::npos;
      if (close == std::string::npos) {
        vector += line[at++];
        continue;
      }
      for (at += 2; at < close; at += 2) vector += static_cast<char>(std::stoi(line.substr(at, 2), nullptr, 16));
      at = close + 2;
    }
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

std::vector<std::string> systematic_vectors() {
  std::vector<std::string> vectors;
  std::size_t turn = 0;  // cycles through the smaller tables
  for (const std::string_view element : elements) {
    for (const std::string_view handler : handlers) {
      const Quotes& around = quotes[turn % quotes.size()];
      const std::string_view separator = separators[turn / 3 % separators.size()];
      vectors.push_back(join({"<", element, separator, "src=x ", handler, around.before, calls[turn % calls.size()],
                              around.after, turn % 7 == 0 ? "/>" : ">", "x</", element, ">"}));
      ++turn;
    }
  }
  for (const std::string_view scheme : schemes) {
    for (int spelling = 0; spelling < spellings; ++spelling) {
      for (std::size_t i = 0; i < 6; ++i, ++turn) {
        const UrlPlace& place = url_places[turn % url_places.size()];
        const Quotes& around = quotes[1 + turn % 2];
        vectors.push_back(
            join({"<", place.element, " ", place.attribute, around.before, spelled(scheme, spelling),
                  turn % 3 == 0 ? "//base.example/x" : "alert(1)", around.after, ">x</", place.element, ">"}));
      }
    }
  }
  for (const std::string_view outer : containers) {
    for (const std::string_view inner : containers) {
      for (int nesting = 0; nesting < nestings; ++nesting) vectors.push_back(nested(outer, inner, nesting));
    }
  }
  for (const std::string_view style : styles) {
    for (const std::string_view second : styles) {
      vectors.push_back(join({"<p style=\"", style, ";", second, "\">x</p>"}));
    }
  }
  for (const std::string_view text : texts) {
    for (const std::string_view second : texts) {
      vectors.push_back(join({"<p title='", text, second, "'>", text, second, "<b>", second, text, "</p>"}));
      vectors.push_back(join({text, second, payload, text}));
    }
  }
  return vectors;
}

std::string generated_vector(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out;
  for (auto pieces = random() % 12 + 2; pieces > 0; --pieces) add_piece(out, random);
  return out;
}

}  // namespace feedmill::test
