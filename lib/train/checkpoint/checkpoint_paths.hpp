#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checkpoint/checkpoint_state.hpp"

namespace LEAT::detail {

/// The text is not a valid state file.
class unreadable_state : public failure {
 public:
  using failure::failure;
};

/// Returns a name prefixed with the directory; an absolute name is unchanged.
[[nodiscard]] std::string path_in(const std::string& directory, const std::string& name);

/// Returns true for BASENAME-STEP, and sets `step`.
[[nodiscard]] bool is_checkpoint_name(std::string_view name, std::string_view basename,
                                      std::uint64_t& step);

/// Returns BASENAME-STEP; `padded`: with zeros, to eight digits.
[[nodiscard]] std::string checkpoint_name(std::string_view basename, std::uint64_t step,
                                          bool padded);

/// Returns the final name of a partial file: without ".partial" and the number after it. Empty if
/// the name is not one of a partial file.
[[nodiscard]] std::string_view strip_partial_suffix(std::string_view name) noexcept;

/// Like get_checkpoint_state(), but invalid text is an error. Errors: unreadable_state.
[[nodiscard]] task<std::optional<checkpoint_state>> read_checkpoint_state(
    std::string directory, std::string latest_filename);

/// Returns when a checkpoint was written; empty if there is none. Errors: system errors.
[[nodiscard]] task<std::optional<wall_time_point>> checkpoint_time(std::string path);

}  // namespace LEAT::detail
