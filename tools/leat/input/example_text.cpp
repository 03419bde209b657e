#include "input/example_text.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "input/json_values.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using values = leat::decoded_example::values;

// The number of bytes of a text to show, if `most` values are shown.
std::size_t bytes_for(std::size_t most) { return most > SIZE_MAX / 8 ? most : most * 8; }

std::string value_text(float value, std::size_t) { return fmt::format("{}", value); }
std::string value_text(std::int64_t value, std::size_t) { return fmt::format("{}", value); }
std::string value_text(std::string_view value, std::size_t most) {
  const std::string_view shown = value.substr(0, bytes_for(most));
  std::string text = '"' + escape_text(shown) + '"';
  if (shown.size() < value.size()) text += fmt::format("... ({} bytes)", value.size());
  return text;
}

// Calls use(range of floats, of integers or of strings).
template <class Use>
void visit_feature(const leat::tensor& t, Use use) {
  switch (t.type()) {
    case leat::dtype::float32: use(t.values<float>()); break;
    case leat::dtype::int64: use(t.values<std::int64_t>()); break;
    default: use(t.strings());
  }
}

std::string values_text(const leat::tensor& t, std::size_t most) {
  std::string text;
  visit_feature(t, [&](const auto& all) {
    for (std::size_t i = 0; i < std::min(t.count(), most); ++i) {
      if (i > 0) text += ", ";
      text += value_text(all[i], most);
    }
  });
  if (t.count() > most) text += fmt::format(", ... ({} in all)", t.count());
  return text;
}

json feature_json(const values& v) {
  json object = json::object();
  if (!v) return object;
  json& list = object[std::string(kind_of(v))] = json::array();
  visit_feature(*v, [&](const auto& all) {
    for (const auto value : all) list.push_back(value_json(value));
  });
  return object;
}

json features_json(const decltype(leat::decoded_example::features)& all) {
  json object = json::object();
  for (const auto& [name, v] : all) add_member(object, name, feature_json(v));
  return object;
}

// A serialized message begins with a tag, which is a control character for the fields 1 to 3.
void refuse_message_as_name(std::string_view name, bool has_values) {
  if (has_values || name.empty() || static_cast<unsigned char>(name[0]) >= ' ') return;
  throw leat::decode_error(
      0, fmt::format(" is not a tf.train.Example: the name '{}' is a serialized message",
                     escape_text(name.substr(0, 32))));
}

}  // namespace

leat::decoded_example decode_example(std::string_view record) {
  leat::decoded_example e = leat::decode_example(leat::as_bytes(record));
  for (const auto& [name, v] : e.features) refuse_message_as_name(name, v.has_value());
  for (const auto& [name, list] : e.feature_lists) refuse_message_as_name(name, !list.empty());
  return e;
}

std::optional<leat::decoded_example> try_decode_example(std::string_view record) {
  try {
    return decode_example(record);
  } catch (const leat::decode_error&) {
    return std::nullopt;
  }
}

std::string_view kind_of(leat::dtype type) noexcept {
  switch (type) {
    case leat::dtype::float32: return "float";
    case leat::dtype::int64: return "int64";
    default: return "bytes";
  }
}

std::string_view kind_of(const values& v) noexcept { return v ? kind_of(v->type()) : "empty"; }

std::string to_text(const leat::decoded_example& e, std::size_t most) {
  std::vector<std::pair<std::string, const values*>> lines;
  for (const auto& [name, value] : e.features) lines.emplace_back(escape_text(name), &value);
  for (const auto& [name, list] : e.feature_lists) {
    for (std::size_t i = 0; i < list.size() && i < most; ++i) {
      lines.emplace_back(fmt::format("{}[{}]", escape_text(name), i), &list[i]);
    }
    if (list.size() > most) {
      lines.emplace_back(fmt::format("{}[...]  ({} in all)", escape_text(name), list.size()),
                         nullptr);
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
      line = fmt::format("  {:<{}}  {:<5}  {}", name, width, kind_of(*value),
                         *value ? values_text(**value, most) : std::string());
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

json to_json(const leat::decoded_example& e) {
  if (!e.is_sequence) return {{"features", features_json(e.features)}};
  json lists = json::object();
  for (const auto& [name, list] : e.feature_lists) {
    json steps = json::array();
    for (const values& v : list) steps.push_back(feature_json(v));
    add_member(lists, name, std::move(steps));
  }
  return {{"context", features_json(e.features)}, {"feature_lists", std::move(lists)}};
}

}  // namespace tool
