#include "train/supervisor/registered_step.hpp"

#include <algorithm>
#include <cstring>

namespace LEAT::detail {
namespace {

template <class T>
std::function<std::int64_t()> make_reader(checkpoint_item& item) {
  return [&item] {
    const saved_value value = item.save(false);
    T step;
    std::memcpy(&step, value.bytes().data(), sizeof step);
    return static_cast<std::int64_t>(step);
  };
}

}  // namespace

std::function<std::int64_t()> registered_step(const checkpoint_registry& state,
                                              const std::string& name,
                                              const std::function<void(const std::string&)>& warn) {
  const auto& items = state.items();
  const auto found =
      std::ranges::find_if(items, [&](const auto& item) { return item->name() == name; });
  if (found == items.end()) return nullptr;
  checkpoint_item& item = **found;
  if (item.fixed_size() == item.element_size()) {
    if (item.type() == "int64") return make_reader<std::int64_t>(item);
    if (item.type() == "uint64") return make_reader<std::uint64_t>(item);
    if (item.type() == "int32") return make_reader<std::int32_t>(item);
    if (item.type() == "uint32") return make_reader<std::uint32_t>(item);
  }
  warn("entry '" + name + "' is not an integer of 4 or 8 bytes: step numbers are unknown");
  return nullptr;
}

}  // namespace LEAT::detail
