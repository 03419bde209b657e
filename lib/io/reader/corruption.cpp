#include "leat/io/reader/corruption.hpp"

namespace leat {

corruption_report detail::report_of_file(std::string_view path, const std::exception_ptr& error) {
  corruption_report report;
  report.path = path;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    report.what = e.what();
  } catch (...) {
    report.what = "an error of an unknown kind";
  }
  return report;
}

failure detail::refusal(errc reason, const corruption_report& report, std::string_view place,
                        std::string_view hint) {
  return {reason, report.path + ", " + std::string(place) + " at offset " +
                      std::to_string(report.offset) + ": " + report.what + std::string(hint)};
}

std::string detail::hint_of_limit(std::uint64_t reports) {
  return "; " + std::to_string(reports) +
         " were left out before: the limit is corruption_options::max_reports";
}

std::string detail::hint_of_too_long(std::uint64_t offset) {
  return "; what may be a record at offset " + std::to_string(offset) +
         " is above the limit corruption_options::max_held: searched on within it";
}

}  // namespace leat
