// Decodes any bytes as an event, or refuses them. A decoded event is equal after it is written and
// read, and its histograms are valid or refused.

#include "leat/codec/event/event.hpp"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <variant>

#include "leat/base/error.hpp"

namespace {

// A low limit that inputs can reach.
constexpr leat::event_limits limits{.max_values = 100};

std::optional<leat::event_record> read(std::string_view bytes) {
  try {
    return leat::event_record::from_bytes(bytes, limits);
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::data_loss && e.code() != leat::errc::resource_exhausted)
      std::abort();
    return std::nullopt;
  }
}

void look_at(const leat::histogram_data& data) {
  try {
    const leat::histogram h(data);
    if (h.num() == 0 && h.median() != 0) std::abort();
    if (h.variance() < 0) std::abort();
    const leat::histogram_data stored = h.encode();
    if (stored.bucket.size() > data.bucket.size()) std::abort();
    double before = 0;
    double after = 0;
    for (const double c : data.bucket) before += c;
    for (const double c : stored.bucket) after += c;
    if (before != after) std::abort();
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::invalid_argument) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto found = read(bytes);
  if (!found) return 0;
  // NaN does not equal itself, so the test compares bytes.
  const std::string written = found->to_bytes();
  const auto again = read(written);
  if (!again || again->to_bytes() != written) std::abort();
  if (const auto* const s = std::get_if<leat::summary>(&found->what)) {
    if (s->values.size() > limits.max_values) std::abort();
    if (leat::summary::from_bytes(s->to_bytes()).to_bytes() != s->to_bytes()) std::abort();
    for (const leat::summary_value& v : s->values) {
      if (const auto* const h = std::get_if<leat::histogram_data>(&v.value)) look_at(*h);
    }
  }
  return 0;
}
