#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checkpoint/checkpoint_state.hpp"

namespace leat::detail {

/// The text of a state file is none.
class unreadable_state : public failure {
 public:
  using failure::failure;
};

/// A name with the directory in front; an absolute one as it is.
[[nodiscard]] std::string path_in(const std::string& directory, const std::string& name);

/// True for BASENAME-STEP, with `step` set.
[[nodiscard]] bool is_checkpoint_name(std::string_view name, std::string_view basename,
                                      std::uint64_t& step);

/// BASENAME-STEP; `padded`: with zeros, to eight digits.
[[nodiscard]] std::string checkpoint_name(std::string_view basename, std::uint64_t step,
                                          bool padded);

/// The name of a file that is half written, as it will be: without ".partial" and the number behind
/// it. Empty: it is no such name.
[[nodiscard]] std::string_view strip_partial_suffix(std::string_view name) noexcept;

/// As get_checkpoint_state(), but an unreadable text is an error. Errors: unreadable_state.
[[nodiscard]] task<std::optional<checkpoint_state>> read_checkpoint_state(
    std::string directory, std::string latest_filename);

/// When a checkpoint was written; empty where there is none. Errors: of the system.
[[nodiscard]] task<std::optional<wall_time_point>> checkpoint_time(std::string path);

}  // namespace leat::detail
