#include "leat/pipeline/source/detail/reader_tasks.hpp"

namespace LEAT::detail {

std::function<void(const corruption_report&)> append_to(std::vector<corruption_report>& reports) {
  return [&reports](const corruption_report& r) { reports.push_back(r); };
}

}  // namespace LEAT::detail
