// Decodes any bytes as a definition, or refuses them. A definition is equal after it is written and
// read, and no prefix or scope changes it.

#include "leat/input/queue_runner_def.hpp"

#include <cstdlib>
#include <optional>
#include <string>

namespace {

std::optional<leat::queue_runner_def> read(std::string_view bytes) {
  try {
    return leat::queue_runner_def::from_bytes(bytes);
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::data_loss) std::abort();
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto def = read(bytes);
  if (!def) return 0;
  const std::string written = def->to_bytes();
  if (read(written) != def || def->to_bytes() != written) std::abort();
  // A second message in the bytes is merged: it replaces single names and extends lists.
  const auto twice = read(bytes + written);
  if (!twice || twice->queue_name != def->queue_name) std::abort();
  if (twice->enqueue_op_names.size() != 2 * def->enqueue_op_names.size()) std::abort();
  const auto errors = def->queue_closed_errors.size();
  const bool perhaps_default = def->queue_closed_errors == std::vector{leat::errc::out_of_range};
  if (twice->queue_closed_errors.size() != 2 * errors &&
      !(perhaps_default && twice->queue_closed_errors.size() == errors)) {
    std::abort();
  }
  if (def->queue_name.empty()) return 0;
  const auto back = def->with_scope("a/b").without_scope("a/b");
  if (back != def) std::abort();
  return 0;
}
