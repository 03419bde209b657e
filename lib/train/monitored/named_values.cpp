#include "leat/train/monitored/named_values.hpp"

#include <algorithm>

#include "leat/base/error.hpp"

namespace LEAT {

void named_values::insert(std::string name, std::any value, std::optional<double> number) {
  if (name.empty())
    throw failure(errc::invalid_argument, "named_values: name is empty: set a name for each value");
  if (find(name)) {
    throw failure(errc::already_exists,
                  "named_values: duplicate name '" + name + "': use a unique name for each value");
  }
  entries_.push_back({std::move(name), std::move(value), number});
}

const named_values::entry* named_values::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

const named_values::entry& named_values::require(std::string_view name) const {
  if (const entry* const found = find(name)) return *found;
  std::string known;
  for (const entry& e : entries_) known += (known.empty() ? "'" : ", '") + e.name + "'";
  throw failure(errc::not_found,
                "named_values: no value '" + std::string(name) +
                    "': " + (known.empty() ? "the list is empty" : "the names are " + known));
}

void named_values::refuse_type(std::string_view name) {
  throw failure(errc::invalid_argument,
                "named_values: '" + std::string(name) + "' has a different type than requested");
}

std::vector<std::string> named_values::names() const {
  std::vector<std::string> all;
  for (const entry& e : entries_) all.push_back(e.name);
  return all;
}

}  // namespace LEAT
