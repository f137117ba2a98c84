// Places: GeoRSS Simple and GML, W3C geo. Converts them to GeoJSON types and coordinates, longitude first.
#include <charconv>
#include <cmath>
#include <vector>

#include "parsers/feed/reading.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_numbers = 20'000;
constexpr std::size_t max_shapes = 64;

// Numbers separated by white space or commas; empty if the text holds anything else.
std::optional<std::vector<double>> read_numbers(std::string_view text) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(" \t\n\r,");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    if (text.front() == '+') text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !std::isfinite(value) || numbers.size() >= max_numbers) return std::nullopt;
    numbers.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

void append_number(std::string& out, double value) {
  std::array<char, 32> buffer{};
  const auto [end, _] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), end);
}

// Appends one position as JSON. Positions come latitude first and are swapped, unless `swap` is false.
void append_position(std::string& out, const double* at, std::size_t dimension, bool swap) {
  out += '[';
  append_number(out, at[swap ? 1 : 0]);
  out += ',';
  append_number(out, at[swap ? 0 : 1]);
  for (std::size_t i = 2; i < dimension; ++i) {
    out += ',';
    append_number(out, at[i]);
  }
  out += ']';
}

std::string positions(const std::vector<double>& numbers, std::size_t dimension, bool swap) {
  std::string out = "[";
  for (std::size_t i = 0; i + dimension <= numbers.size(); i += dimension) {
    if (i > 0) out += ',';
    append_position(out, &numbers[i], dimension, swap);
  }
  return out + "]";
}

// Builds a shape from its numbers; its type stays "" if there are too few.
Geo shape(std::string_view type, std::string_view text, std::size_t dimension, bool swap) {
  Geo geo;
  const std::optional<std::vector<double>> numbers = read_numbers(text);
  if (!numbers || dimension < 2 || numbers->size() % dimension != 0) return geo;
  const std::size_t count = numbers->size() / dimension;
  if (type == "Point" && count == 1) {
    append_position(geo.coordinates, numbers->data(), dimension, swap);
  } else if ((type == "LineString" && count >= 2) || (type == "Box" && count == 2)) {
    geo.coordinates = positions(*numbers, dimension, swap);
  } else if (type == "Polygon" && count >= 4) {
    geo.coordinates = "[" + positions(*numbers, dimension, swap) + "]";
  }
  if (!geo.coordinates.empty()) geo.type = type;
  return geo;
}

// Stores a shape: the first readable one becomes the entry's place, later ones go to `more`.
bool store(const Reading& in, Geo geo) {
  Rare<Geo>& held = in.target.common.geo;
  if (geo.type.empty()) {  // unreadable: keep it as an extension
    if (!held) place_of(in, held) = Geo{};
    return false;
  }
  in.xml.allowance().take(geo.coordinates);
  const bool first = in.target.take(Slot::geo, in.rank);
  const bool has_place = held && !held->type.empty();
  if (!first && has_place) {
    if (held->more.size() >= max_shapes) return false;
    append(in, held->more, std::move(geo));
    return true;
  }
  if (has_place && held->coordinates != geo.coordinates) append(in, geo.more, std::move(*held));  // W3C's point
  place_of(in, held) = std::move(geo);
  return true;
}

template <const std::string_view& type>
bool read_simple(const Reading& in) {
  std::size_t dimension = 2;
  const std::string text = in.text();
  Geo geo = shape(type, text, dimension, true);
  if (type == std::string_view("Point") && geo.type.empty()) geo = shape(type, text, 3, true);
  return store(in, std::move(geo));
}

inline constexpr std::string_view point = "Point", line = "LineString", polygon = "Polygon", box = "Box";

// Whether a reference system puts latitude first: so do EPSG codes of geographic systems, and so it is assumed of
// unknown names. Projected systems put longitude first or measure in metres.
bool latitude_first(std::string_view srs) {
  if (srs.empty()) return true;
  const std::size_t last = srs.find_last_of(":#/");
  const std::optional<std::int64_t> code = parse_integer(last == std::string_view::npos ? srs : srs.substr(last + 1));
  if (!code) return true;
  return (*code >= 4000 && *code < 5000) || *code == 3819 || *code == 3821 || *code == 3824 || *code == 3889 ||
         *code == 3906;
}

// GML 3.1 §10, and GML 2's coordinates element; the first shape inside is used. Iterative.
bool read_where(const Reading& in) {
  Geo geo;
  std::string srs, type;
  std::size_t dimension = 2;
  bool found = false;
  std::string corners;
  for (pugi::xml_node node = in.node; node && !found;) {
    if (node.type() == pugi::node_element) {
      const std::string_view qualified = node.name();
      const std::size_t colon = qualified.find(':');
      const std::string_view name = colon == std::string_view::npos ? qualified : qualified.substr(colon + 1);
      for (const std::string_view known : {point, line, polygon}) {
        if (iequals(name, known)) type = known;
      }
      if (iequals(name, "Envelope")) type = box;
      if (std::string value = in.xml.attribute(node, "srsName"); !value.empty()) srs = value;
      if (const auto value = parse_integer(in.xml.attribute(node, "srsDimension"));
          value && *value >= 2 && *value <= 4) {
        dimension = static_cast<std::size_t>(*value);
        geo.srs_dimension = *value;
      }
      const std::string text = iequals(name, "pos") || iequals(name, "posList") || iequals(name, "coordinates") ||
                                       iequals(name, "lowerCorner") || iequals(name, "upperCorner")
                                   ? in.xml.text(node)
                                   : std::string{};
      if (!text.empty()) {
        if (iequals(name, "lowerCorner") || iequals(name, "upperCorner")) {
          corners += corners.empty() ? text : " " + text;
          found = iequals(name, "upperCorner");
          if (found) geo.coordinates = shape("Box", corners, dimension, latitude_first(srs)).coordinates;
        } else {
          // GML 2's coordinates put longitude first: "x,y x,y".
          const bool swap = !iequals(name, "coordinates") && latitude_first(srs);
          if (type == "Point" && geo.srs_dimension == std::nullopt) {
            const auto numbers = read_numbers(text);
            if (numbers && numbers->size() == 3) dimension = 3;
          }
          geo.coordinates = shape(type, text, dimension, swap).coordinates;
          found = true;
        }
      }
    }
    if (node.first_child()) {
      node = node.first_child();
    } else {
      while (node != in.node && !node.next_sibling()) node = node.parent();
      node = node == in.node ? pugi::xml_node{} : node.next_sibling();
    }
  }
  if (geo.coordinates.empty()) return store(in, Geo{});
  geo.type = type;
  geo.srs_name = srs;
  return store(in, std::move(geo));
}

// W3C geo: latitude and longitude are separate elements, in either order.
bool read_degree(const Reading& in, bool latitude) {
  if (in.target.has(Slot::geo)) return false;  // a GeoRSS shape is more precise
  Geo geo = in.target.common.geo.value_or(Geo{});
  const auto numbers = read_numbers(in.text());
  if (!geo.type.empty() || !numbers || numbers->size() != 1) return false;
  std::string number;
  append_number(number, numbers->front());
  // Until both are known, the first one is stored as "[,lat" or "[lon".
  if (geo.coordinates.empty()) {
    geo.coordinates = latitude ? "," + number + "]" : "[" + number;
  } else if (latitude == geo.coordinates.starts_with('[')) {
    geo.coordinates = latitude ? geo.coordinates + "," + number + "]" : "[" + number + geo.coordinates;
    geo.type = "Point";
  }
  place_of(in, in.target.common.geo) = std::move(geo);
  return true;
}

bool read_latitude(const Reading& in) {
  return read_degree(in, true);
}
bool read_longitude(const Reading& in) {
  return read_degree(in, false);
}

bool read_lat_long(const Reading& in) {
  return store(in, shape("Point", in.text(), 2, true));
}

bool read_geo_point(const Reading& in) {
  bool whole = true;
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    const Reading part{in.xml, in.target, child, name, in.rank};
    if (iequals(name.local, "lat")) whole = read_degree(part, true) && whole;
    if (iequals(name.local, "long") || iequals(name.local, "lon")) whole = read_degree(part, false) && whole;
  }
  return whole;
}

constexpr ElementRow geo_elements[] = {
    {Ns::georss, "point", read_simple<point>},
    {Ns::georss, "line", read_simple<line>},
    {Ns::georss, "polygon", read_simple<polygon>},
    {Ns::georss, "box", read_simple<box>},
    {Ns::georss, "where", read_where},
    {Ns::gml, "where", read_where},
    {Ns::gml, "point", read_where},
    {Ns::geo, "lat", read_latitude},
    {Ns::geo, "latitude", read_latitude},
    {Ns::geo, "long", read_longitude},
    {Ns::geo, "lon", read_longitude},
    {Ns::geo, "longitude", read_longitude},
    {Ns::geo, "lat_long", read_lat_long},
    {Ns::geo, "point", read_geo_point},
};

}  // namespace

constinit const std::span<const ElementRow> geo_rows = geo_elements;

}  // namespace feedmill
