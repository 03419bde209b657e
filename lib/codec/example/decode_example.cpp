#include "leat/codec/example/decode_example.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

#include "codec/example/example_wire.hpp"
#include "codec/example/value_column.hpp"

namespace LEAT {
namespace {

using detail::feature_kind;
using detail::for_each_bytes;
using detail::joined_bytes;
using detail::map_entry;

dtype to_dtype(feature_kind kind) noexcept {
  switch (kind) {
    case feature_kind::floats: return dtype::float32;
    case feature_kind::ints: return dtype::int64;
    default: return dtype::string;
  }
}

decoded_example::values decode_feature(std::string_view feature, joined_bytes& joined) {
  const detail::feature_list found = detail::read_feature(feature, joined);
  if (found.kind == feature_kind::none) return std::nullopt;
  detail::value_column column(to_dtype(found.kind));
  const auto count = static_cast<std::int64_t>(column.add(found.list));
  return column.take({count});
}

class decoder {
 public:
  explicit decoder(const example_options& options) noexcept : options_(options) {}

  void add_features(std::string_view map) {
    for_each_entry(map, [&](std::string key, std::string_view feature) {
      all_.features.insert_or_assign(std::move(key), decode_feature(feature, joined_));
    });
  }

  void add_lists(std::string_view map) {
    all_.is_sequence = true;
    for_each_entry(map, [&](std::string key, std::string_view list) {
      std::vector<decoded_example::values> steps;
      for_each_bytes(list, 1, [&](std::string_view feature) {
        steps.push_back(decode_feature(feature, joined_));
      });
      all_.feature_lists.insert_or_assign(std::move(key), std::move(steps));
    });
  }

  [[nodiscard]] decoded_example take() noexcept { return std::move(all_); }

 private:
  // Calls use(key, message) for each entry of a map. The last value of a repeated key counts.
  template <class Use>
  void for_each_entry(std::string_view map, Use use) {
    for_each_bytes(map, 1, [&](std::string_view bytes) {
      const map_entry entry(bytes, joined_);
      if (options_.check_utf8) detail::require_utf8(entry.key);
      use(std::string(entry.key), entry.value);
    });
  }

  const example_options options_;
  decoded_example all_;
  joined_bytes joined_;
};

}  // namespace

decoded_example decode_example(byte_view record, example_options options) {
  constexpr auto throw_error = [](const std::string& why) {
    throw decode_error(0, " is not a tf.train.Example: " + why);
  };
  decoder to(options);
  bool any = record.empty();
  try {
    for_each_bytes(as_text(record), 1, [&](std::string_view features) {
      any = true;
      to.add_features(features);
    });
    for_each_bytes(as_text(record), 2, [&](std::string_view lists) {
      any = true;
      to.add_lists(lists);
    });
  } catch (const detail::malformed_message& error) {
    throw_error(detail::to_text(error, record));
  }
  if (!any) throw_error("neither features nor feature lists found");
  return to.take();
}

}  // namespace LEAT
