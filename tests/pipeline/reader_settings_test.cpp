#include "leat/pipeline/detail/reader_settings.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/io/tfrecord_reader.hpp"

namespace reader_settings_test {

std::optional<std::uint64_t> setting_of(const leat::tfrecord_reader_options& o,
                                        std::string_view name) {
  std::vector<leat::detail::setting> all;
  leat::detail::add_reader_settings(o, all);
  for (const leat::detail::setting& s : all) {
    if (s.name == name) return s.value;
  }
  return std::nullopt;
}

TEST_CASE("reader_settings: which records a search passes over depends on what it may hold",
          "[pipeline]") {
  leat::tfrecord_reader_options o;
  o.corruption.max_held = 9;
  CHECK(setting_of(o, "max_record_size") == o.max_record_size);
  CHECK(setting_of(o, "corruption.policy") == 0);
  CHECK(setting_of(o, "corruption.max_held") == std::nullopt);
  o.corruption.policy = leat::corruption_policy::resync;
  CHECK(setting_of(o, "corruption.max_held") == 9);
}

}  // namespace reader_settings_test
