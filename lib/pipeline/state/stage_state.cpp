#include "leat/pipeline/state/detail/stage_state.hpp"

#include <exception>
#include <new>

#include "base/internal/error_text.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {

void stage_state::read(std::string_view own, const std::vector<setting>&) {
  if (!own.empty()) throw_unknown_field();
}

void stage_state::merge(const std::vector<const stage_state*>&, rank_share&) {}

void stage_state::number_batches(batch_numbers&, bool) {}

void throw_state_error(std::string_view stage, std::string_view why) {
  throw failure(errc::failed_precondition, "stage '" + std::string(stage) +
                                               "': state cannot be restored: " + std::string(why));
}

void rethrow_input_error(std::string_view pipeline) {
  std::string why;
  try {
    throw;
  } catch (const std::system_error& e) {
    if (e.code() != errc::invalid_argument) throw;
    why = without_code_message(e);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    why = e.what();
  }
  std::throw_with_nested(
      failure(errc::failed_precondition,
              "pipeline '" + std::string(pipeline) + "' cannot resume from its state: " + why));
}

void require_seed(std::string_view stage, std::optional<std::uint64_t> given, std::uint64_t saved) {
  if (!given || *given == saved) return;
  throw_state_error(stage, "seed is " + std::to_string(*given) + ", but was " +
                               std::to_string(saved) + " when it was saved");
}

void throw_record_error(const std::string& path, const origin& record) {
  throw failure(errc::failed_precondition,
                path + ": record " + std::to_string(record.index) + " at offset " +
                    std::to_string(record.offset) +
                    " no longer exists, but is needed to restore a state");
}

}  // namespace LEAT::detail
