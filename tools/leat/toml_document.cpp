#include "toml_document.hpp"

#include <algorithm>

#include <toml++/toml.h>

namespace tool {
namespace {

text_place place_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

toml_value value_of(const toml::node& node);

toml_value::table table_of(const toml::table& from) {
  toml_value::table entries;
  for (const auto& [key, node] : from) {
    entries.push_back({std::string(key.str()), place_of(key.source()), value_of(node)});
  }
  std::ranges::sort(entries, {}, &toml_value::entry::where);
  return entries;
}

toml_value value_of(const toml::node& node) {
  toml_value v;
  v.where = place_of(node.source());
  if (const toml::table* const table = node.as_table()) {
    v.value = table_of(*table);
  } else if (const toml::array* const array = node.as_array()) {
    toml_value::list& list = v.value.emplace<toml_value::list>();
    for (const toml::node& element : *array) list.push_back(value_of(element));
  } else if (const auto* const text = node.as_string()) {
    v.value = text->get();
  } else if (const auto* const integer = node.as_integer()) {
    v.value = integer->get();
  } else if (const auto* const number = node.as_floating_point()) {
    v.value = number->get();
  } else if (const auto* const boolean = node.as_boolean()) {
    v.value = boolean->get();
  }
  return v;
}

}  // namespace

toml_value parse_toml(std::string_view text) {
  try {
    return value_of(toml::parse(text));
  } catch (const toml::parse_error& e) {
    throw mistake{place_of(e.source()), std::string(e.description())};
  }
}

}  // namespace tool
