#pragma once

#include "leat/files/file_backend.hpp"
#include "leat/sim/file_system/file_system.hpp"

namespace LEAT::sim {

// The names of operations and faults in a schedule.

inline const char* name_of(file_request::operation what) noexcept {
  using op = file_request::operation;
  switch (what) {
    case op::open: return "open";
    case op::status: return "status";
    case op::list: return "list";
    case op::read: return "read";
    case op::write: return "write";
    case op::sync: return "sync";
    case op::truncate: return "truncate";
    case op::lock: return "lock";
    case op::rename: return "rename";
    case op::remove: return "remove";
    case op::make_directory: return "make directory";
    case op::close: return "close";
  }
  return "?";
}

inline const char* name_of(fault f) noexcept {
  switch (f) {
    case fault::none: return "";
    case fault::short_transfer: return ", cut short";
    case fault::interrupted: return ", EINTR";
    case fault::again: return ", EAGAIN";
    case fault::cancelled_late: return ", ECANCELED after it was done";
    case fault::io_error: return ", EIO";
    case fault::no_space: return ", ENOSPC";
    case fault::bit_flip: return ", one bit wrong";
    case fault::truncated: return ", after the file was cut";
    case fault::replaced: return ", after another file took the name";
    case fault::slow: return ", slow";
    case fault::crash_before: return ", crash before it";
    case fault::crash_after: return ", crash after it";
  }
  return "";
}

}  // namespace LEAT::sim
