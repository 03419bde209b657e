#include "leat/pipeline/element/detail/row_positions.hpp"

#include <typeinfo>

namespace LEAT::detail {

const decode_error* find_error_without_position(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const decode_error& e) {
    if (!e.has_position() && typeid(e) == typeid(decode_error)) return &e;
  } catch (...) {  // unchanged
  }
  return nullptr;
}

std::exception_ptr add_position(const decode_error& e, const std::string& position) {
  return std::make_exception_ptr(e.at(position));
}

}  // namespace LEAT::detail
