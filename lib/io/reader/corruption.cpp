#include "leat/io/reader/corruption.hpp"

namespace LEAT {

corruption_report detail::make_file_report(std::string_view path, const std::exception_ptr& error) {
  corruption_report report;
  report.path = path;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    report.what = e.what();
  } catch (...) {
    report.what = "unknown exception";
  }
  return report;
}

failure detail::corruption_error(errc reason, const corruption_report& report,
                                 std::string_view position, std::string_view hint) {
  return {reason, report.path + ", " + std::string(position) + " at offset " +
                      std::to_string(report.offset) + ": " + report.what + std::string(hint)};
}

std::string detail::limit_hint(std::uint64_t reports) {
  return "; " + std::to_string(reports) +
         " earlier reports reach the limit corruption_options::max_reports: raise it to skip more";
}

std::string detail::too_long_hint(std::uint64_t offset) {
  return "; possible record at offset " + std::to_string(offset) +
         " is above the limit corruption_options::max_held: the search continues inside it";
}

}  // namespace LEAT
