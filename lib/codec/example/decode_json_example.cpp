#include "leat/codec/example/decode_json_example.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/base64.hpp"
#include "codec/excerpt.hpp"
#include "codec/record_count_context.hpp"
#include "codec/string_column.hpp"
#include "codec/text/parse_number.hpp"
#include "leat/codec/example/example_builder.hpp"

namespace LEAT {
namespace {

using json = nlohmann::ordered_json;

// Converts one text of a call.
class json_example {
 public:
  explicit json_example(std::size_t record) : record_(record) {}

  std::string serialize(std::string_view text) {
    builder_.clear();
    const json message = parse(text);
    for_each_field(message, "an Example", [this](const std::string& name, const json& features) {
      if (name != "features") throw_field_error(name, "an Example");
      add_features(features);
    });
    return builder_.serialize();
  }

 private:
  [[noreturn]] void throw_error(const std::string& why) const {
    throw decode_error(record_, ": " + why);
  }
  [[noreturn]] void throw_field_error(const std::string& name, const char* where) const {
    throw_error("unknown field " + detail::excerpt(name) + " in " + where);
  }
  [[noreturn]] void throw_value_error(const char* type) const {
    throw_error("feature " + detail::excerpt(key_) + ": value is not a valid " + type);
  }

  json parse(std::string_view text) const {
    std::vector<std::set<std::string>> names;  // of the open objects
    const auto check_name = [&](int, json::parse_event_t event, const json& name) {
      if (event == json::parse_event_t::object_start) names.emplace_back();
      if (event == json::parse_event_t::object_end) names.pop_back();
      if (event == json::parse_event_t::key && !names.back().insert(name.get<std::string>()).second)
        throw_error("name " + detail::excerpt(name.get<std::string>()) +
                    " occurs twice in an object");
      return true;
    };
    try {
      return json::parse(text, check_name);
    } catch (const json::parse_error& e) {
      throw_error("text is not valid JSON at byte " + std::to_string(e.byte));
    } catch (const json::out_of_range&) {
      throw_error("number is out of range for float64");
    }
  }

  // A field that is null is treated as missing.
  template <class Use>
  void for_each_field(const json& object, const char* what, Use use) const {
    if (!object.is_object()) throw_error("expected a JSON object for " + std::string(what));
    for (const auto& [name, value] : object.items()) {
      if (!value.is_null()) use(name, value);
    }
  }

  void add_features(const json& features) {
    for_each_field(features, "Features", [this](const std::string& name, const json& map) {
      if (name != "feature") throw_field_error(name, "Features");
      if (!map.is_object()) throw_error("expected a JSON object for 'feature'");
      for (const auto& [key, feature] : map.items()) {
        key_ = key;
        add_feature(feature);
      }
    });
  }

  void add_feature(const json& feature) {
    bool found = false;
    for_each_field(feature, "a Feature", [&](const std::string& name, const json& list) {
      if (std::exchange(found, true)) {
        throw_error("feature " + detail::excerpt(key_) + " has more than one list");
      }
      if (name == "bytesList" || name == "bytes_list") {
        add_bytes(list);
      } else if (name == "floatList" || name == "float_list") {
        add_floats(list);
      } else if (name == "int64List" || name == "int64_list") {
        add_ints(list);
      } else {
        throw_field_error(name, "a Feature");
      }
    });
    if (!found) builder_.add(key_, feature_values());
  }

  template <class Use>
  void for_each_value(const json& list, Use use) const {
    for_each_field(list, "a list", [&](const std::string& name, const json& values) {
      if (name != "value") throw_field_error(name, "a list");
      if (!values.is_array()) throw_error("expected a JSON array for 'value'");
      for (const json& value : values) use(value);
    });
  }

  void add_bytes(const json& list) {
    std::vector<std::string> values;
    for_each_value(list, [&](const json& value) {
      if (!value.is_string()) throw_value_error("string");
      auto bytes = detail::decode_base64(value.get_ref<const std::string&>());
      if (!bytes) throw_value_error("base64");
      values.push_back(std::move(*bytes));
    });
    const std::vector<std::string_view> views(values.begin(), values.end());
    builder_.add(key_, views);
  }

  void add_floats(const json& list) {
    std::vector<float> values;
    for_each_value(list, [&](const json& value) { values.push_back(to_float(value)); });
    builder_.add(key_, values);
  }

  void add_ints(const json& list) {
    std::vector<std::int64_t> values;
    for_each_value(list, [&](const json& value) { values.push_back(to_int(value)); });
    builder_.add(key_, values);
  }

  // NaN and Infinity are strings in JSON.
  float to_float(const json& value) const {
    double number = 0;
    if (value.is_number()) {
      number = value.get<double>();
    } else if (!value.is_string() || detail::parse_number(value.get_ref<const std::string&>(),
                                                          number) != detail::parsed::ok) {
      throw_value_error("number");
    }
    const auto narrow = static_cast<float>(number);
    if (std::isinf(narrow) && std::isfinite(number)) throw_value_error("float32");
    return narrow;
  }

  // 1e2 and 3.0 are integers too.
  std::int64_t to_int(const json& value) const {
    std::int64_t number = 0;
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      throw_value_error("int64");
    }
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_string()) {
      if (detail::parse_number(value.get_ref<const std::string&>(), number) == detail::parsed::ok) {
        return number;
      }
    } else if (value.is_number_float()) {
      const double wide = value.get<double>();
      constexpr double limit = 9223372036854775808.0;  // 2^63
      if (wide >= -limit && wide < limit && wide == std::trunc(wide)) {
        return static_cast<std::int64_t>(wide);
      }
    }
    throw_value_error("int64");
  }

  std::size_t record_;
  example_builder builder_;
  std::string key_;  // of the current feature
};

}  // namespace

tensor decode_json_example(const tensor& texts) {
  detail::string_column messages;
  messages.reserve(texts.count());
  detail::with_record_count(texts.count(), [&] {
    for (const std::string_view text : texts.strings()) {
      messages.add(json_example(messages.count()).serialize(text));
    }
  });
  return messages.take(texts.shape());
}

std::string decode_json_example(std::string_view text) { return json_example(0).serialize(text); }

}  // namespace LEAT
