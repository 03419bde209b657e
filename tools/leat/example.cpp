#include "example.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "text.hpp"

namespace tool {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view view(const protozero::data_view& data) { return {data.data(), data.size()}; }

// The fields of a message one by one; those with another wire type than expected are passed over,
// as protobuf does.
template <class Use>
void for_each_field(std::string_view message, Use use) {
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (!use(reader)) reader.skip();
  }
}

// Calls `use` with each message in this field.
template <class Use>
void for_each_message(std::string_view message, protozero::pbf_tag_type tag, Use use) {
  for_each_field(message, [&](pbf_reader& r) {
    if (r.tag_and_type() != protozero::tag_and_type(tag, pbf_wire_type::length_delimited)) {
      return false;
    }
    use(view(r.get_view()));
    return true;
  });
}

std::vector<std::string_view> parse_bytes(std::string_view list) {
  std::vector<std::string_view> values;
  for_each_message(list, 1, [&](std::string_view value) { values.push_back(value); });
  return values;
}

// Numbers may be packed or not.
template <class Number, pbf_wire_type Single, class Packed, class One>
std::vector<Number> parse_numbers(std::string_view list, Packed packed, One one) {
  std::vector<Number> values;
  for_each_field(list, [&](pbf_reader& r) {
    if (r.tag_and_type() == protozero::tag_and_type(1, pbf_wire_type::length_delimited)) {
      for (const Number n : packed(r)) values.push_back(n);
    } else if (r.tag_and_type() == protozero::tag_and_type(1, Single)) {
      values.push_back(one(r));
    } else {
      return false;
    }
    return true;
  });
  return values;
}

std::vector<float> parse_floats(std::string_view list) {
  return parse_numbers<float, pbf_wire_type::fixed32>(
      list, [](pbf_reader& r) { return r.get_packed_float(); },
      [](pbf_reader& r) { return r.get_float(); });
}

std::vector<std::int64_t> parse_integers(std::string_view list) {
  return parse_numbers<std::int64_t, pbf_wire_type::varint>(
      list, [](pbf_reader& r) { return r.get_packed_int64(); },
      [](pbf_reader& r) { return r.get_int64(); });
}

feature parse_feature(std::string_view message) {
  feature f;
  for_each_field(message, [&](pbf_reader& r) {
    if (r.wire_type() != pbf_wire_type::length_delimited || r.tag() < 1 || r.tag() > 3) {
      return false;
    }
    const auto tag = r.tag();
    const std::string_view list = view(r.get_view());
    if (tag == 1) f = parse_bytes(list);
    if (tag == 2) f = parse_floats(list);
    if (tag == 3) f = parse_integers(list);
    return true;
  });
  return f;
}

// The entry of a map: its key, and its value as it lies there. The last of each counts.
std::pair<std::string_view, std::string_view> parse_entry(std::string_view entry) {
  std::pair<std::string_view, std::string_view> parts;
  for_each_message(entry, 1, [&](std::string_view name) { parts.first = name; });
  for_each_message(entry, 2, [&](std::string_view value) { parts.second = value; });
  return parts;
}

void parse_features(std::string_view message, features& all) {
  for_each_message(message, 1, [&](std::string_view entry) {
    const auto [name, value] = parse_entry(entry);
    all.insert_or_assign(name, parse_feature(value));
  });
}

void parse_lists(std::string_view message, example& e) {
  for_each_message(message, 1, [&](std::string_view entry) {
    const auto [name, value] = parse_entry(entry);
    std::vector<feature> list;
    for_each_message(value, 1, [&](std::string_view f) { list.push_back(parse_feature(f)); });
    e.lists.insert_or_assign(name, std::move(list));
  });
}

// So many bytes of a text are shown where so many values are.
std::size_t bytes_for(std::size_t most) { return most > SIZE_MAX / 8 ? most : most * 8; }

std::string value_text(float value, std::size_t) { return fmt::format("{}", value); }
std::string value_text(std::int64_t value, std::size_t) { return fmt::format("{}", value); }
std::string value_text(std::string_view value, std::size_t most) {
  const std::string_view shown = value.substr(0, bytes_for(most));
  std::string text = '"' + escaped(shown) + '"';
  if (shown.size() < value.size()) text += fmt::format("... ({} bytes)", value.size());
  return text;
}

std::string values_text(std::monostate, std::size_t) { return {}; }

template <class Value>
std::string values_text(const std::vector<Value>& values, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
    if (i > 0) text += ", ";
    text += value_text(values[i], most);
  }
  if (values.size() > most) text += fmt::format(", ... ({} in all)", values.size());
  return text;
}

// As short as the float is: 0.1, not 0.10000000149011612. What JSON has no number for is a string,
// as in protobuf's own JSON.
json number(float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

json value_json(float value) { return number(value); }
json value_json(std::int64_t value) { return value; }
json value_json(std::string_view value) {
  if (is_utf8(value)) return std::string(value);
  return {{"base64", base64(value)}};
}

json feature_json(const feature& f) {
  json object = json::object();
  const auto add = [&](const auto& values) {
    if constexpr (!std::is_same_v<decltype(values), const std::monostate&>) {
      json& list = object[std::string(kind_of(f))] = json::array();
      for (const auto value : values) list.push_back(value_json(value));
    }
  };
  std::visit(add, f);
  return object;
}

json features_json(const features& all) {
  json object = json::object();
  for (const auto& [name, value] : all) object[std::string(name)] = feature_json(value);
  return object;
}

}  // namespace

std::optional<example> parse_example(std::string_view record) {
  example e;
  bool any = record.empty();
  try {
    for_each_message(record, 1, [&](std::string_view list) {
      any = true;
      parse_features(list, e.context);
    });
    for_each_message(record, 2, [&](std::string_view lists) {
      any = e.is_sequence = true;
      parse_lists(lists, e);
    });
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  if (!any) return std::nullopt;
  return e;
}

std::string_view kind_of(const feature& f) noexcept {
  constexpr std::string_view names[] = {"empty", "bytes", "float", "int64"};
  return names[f.index()];
}

std::size_t count_of(const feature& f) noexcept {
  const auto count = [](const auto& values) -> std::size_t {
    if constexpr (std::is_same_v<decltype(values), const std::monostate&>) {
      return 0;
    } else {
      return values.size();
    }
  };
  return std::visit(count, f);
}

std::string to_text(const example& e, std::size_t most) {
  std::vector<std::pair<std::string, const feature*>> lines;
  for (const auto& [name, value] : e.context) lines.emplace_back(escaped(name), &value);
  for (const auto& [name, list] : e.lists) {
    for (std::size_t i = 0; i < list.size() && i < most; ++i) {
      lines.emplace_back(fmt::format("{}[{}]", escaped(name), i), &list[i]);
    }
    if (list.size() > most) {
      lines.emplace_back(fmt::format("{}[...]  ({} in all)", escaped(name), list.size()), nullptr);
    }
  }
  std::size_t width = 0;
  for (const auto& [name, value] : lines) {
    if (value) width = std::max(width, name.size());
  }
  std::string text;
  for (const auto& [name, value] : lines) {
    std::string line = "  " + name;
    if (value) {
      const auto values = [most](const auto& v) { return values_text(v, most); };
      line = fmt::format("  {:<{}}  {:<5}  {}", name, width, kind_of(*value),
                         std::visit(values, *value));
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

json to_json(const example& e) {
  if (!e.is_sequence) return {{"features", features_json(e.context)}};
  json lists = json::object();
  for (const auto& [name, list] : e.lists) {
    json& values = lists[std::string(name)] = json::array();
    for (const feature& f : list) values.push_back(feature_json(f));
  }
  return {{"context", features_json(e.context)}, {"feature_lists", std::move(lists)}};
}

}  // namespace tool
