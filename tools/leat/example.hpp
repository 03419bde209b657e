#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "output.hpp"

namespace tool {

/// What a feature of a tf.train.Example holds. None: the feature has no list at all.
using feature = std::variant<std::monostate, std::vector<std::string_view>, std::vector<float>,
                             std::vector<std::int64_t>>;

/// Features by name. Views look into the record.
using features = std::map<std::string_view, feature>;

/// A tf.train.Example: its features. Or a tf.train.SequenceExample: those of its context, and
/// lists.
struct example {
  features context;
  std::map<std::string_view, std::vector<feature>> lists;
  bool is_sequence = false;
};

/// Reads either. Empty for what is neither.
[[nodiscard]] std::optional<example> parse_example(std::string_view record);

/// "bytes", "float", "int64" or "empty".
[[nodiscard]] std::string_view kind_of(const feature& f) noexcept;

/// Values that the feature holds.
[[nodiscard]] std::size_t count_of(const feature& f) noexcept;

/// One line a feature: name, kind, values; `most` of them, and as many bytes of a text by eight.
[[nodiscard]] std::string to_text(const example& e, std::size_t most);

/// {"features": {"age": {"int64": [42]}, "image": {"bytes": [{"base64": "/9j/"}]}}}, or
/// {"context": {...}, "feature_lists": {"words": [{"bytes": ["a"]}, ...]}}
[[nodiscard]] json to_json(const example& e);

}  // namespace tool
