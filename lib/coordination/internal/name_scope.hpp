#pragma once

#include <optional>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Returns the part of a name after its scope: "q" for "a/q" in scope "a". Returns nothing if the
/// name is outside the scope, and the whole name for the empty scope, which contains every name.
[[nodiscard]] std::optional<std::string_view> name_in_scope(std::string_view name,
                                                            std::string_view scope) noexcept;

}  // namespace LEAT::detail
