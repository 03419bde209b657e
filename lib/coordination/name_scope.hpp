#pragma once

#include <optional>
#include <string_view>

namespace leat::detail {

/// The rest of a name behind its scope: "q" of "a/q" in scope "a". Nothing when it is elsewhere;
/// the whole name for the empty scope, in which everything is.
[[nodiscard]] std::optional<std::string_view> name_in_scope(std::string_view name,
                                                            std::string_view scope) noexcept;

}  // namespace leat::detail
