#include "leat/io/corruption.hpp"

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

}  // namespace leat
