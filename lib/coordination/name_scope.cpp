#include "coordination/internal/name_scope.hpp"

namespace LEAT::detail {

std::optional<std::string_view> name_in_scope(std::string_view name,
                                              std::string_view scope) noexcept {
  if (scope.empty()) return name;
  const bool inside =
      name.size() > scope.size() && name.starts_with(scope) && name[scope.size()] == '/';
  if (!inside) return std::nullopt;
  return name.substr(scope.size() + 1);
}

}  // namespace LEAT::detail
