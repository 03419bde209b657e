#include "soak/rough_backend.hpp"

#include <cerrno>
#include <cstdlib>

namespace soak {

using leat::file_request;
using op = file_request::operation;

void injuries::add(std::string message) {
  const std::lock_guard lock(mutex_);
  messages_.insert(std::move(message));
}

bool injuries::explain(const std::string& message) const {
  const std::lock_guard lock(mutex_);
  for (const std::string& m : messages_) {
    if (message.starts_with(m)) return true;
  }
  return false;
}

std::size_t injuries::count() const {
  const std::lock_guard lock(mutex_);
  return messages_.size();
}

// The original request keeps the size that its submitter requested. A stand-in may request less.
struct rough_backend::stand_in : file_request {
  rough_backend* self = nullptr;
  file_request* original = nullptr;
};

rough_backend::~rough_backend() {
  if (under_way_ > 0) std::abort();  // a request never completed
  for (stand_in* s : idle_) delete s;
}

bool rough_backend::happens(double share) noexcept {
  if (static_cast<double>(random_.uniform_below(1'000'000)) >= share * 1e6) return false;
  ++faults_;
  return true;
}

std::size_t rough_backend::scaled_count(std::size_t size) noexcept {
  if (size < 2 || !happens(rates_.short_transfer)) return size;
  return 1 + static_cast<std::size_t>(random_.uniform_below(size - 1));
}

// Returns 0 for no fault.
std::int64_t rough_backend::fault_for(const file_request& r) {
  const bool moves = r.what == op::read || r.what == op::write;
  if (!moves && r.what != op::sync) return 0;
  if (happens(rates_.interrupted)) return -EINTR;
  if (happens(rates_.again)) return -EAGAIN;
  if (happens(rates_.cancelled_late)) return -ECANCELED;
  if (!moves || !happens(rates_.io_error)) return 0;
  const auto path = paths_.find(r.handle);
  broken_.add((path == paths_.end() ? std::string("?") : path->second) +
              (r.what == op::read ? ": cannot read" : ": cannot write") + " at offset " +
              std::to_string(r.offset) + ": ");
  return -EIO;
}

rough_backend::stand_in& rough_backend::take_stand_in() {
  if (idle_.empty()) {
    idle_.push_back(new stand_in);
    idle_.back()->self = this;
  }
  stand_in& s = *idle_.back();
  idle_.pop_back();
  ++under_way_;
  return s;
}

void rough_backend::submit(file_request& request) noexcept {
  if (const std::int64_t fault = fault_for(request); fault != 0) {
    request.result = fault;
    request.completion_scheduler->post(request);
    return;
  }
  stand_in& s = take_stand_in();
  static_cast<file_request&>(s) = request;
  s.original = &request;
  request.backend_data = &s;
  if (request.what == op::read || request.what == op::write) s.size = scaled_count(s.size);
  s.run_ = [](leat::work_item& item) noexcept {
    auto& done = static_cast<stand_in&>(static_cast<file_request&>(item));
    rough_backend& self = *done.self;
    file_request& original = *done.original;
    original.result = done.result;
    original.backend_data = nullptr;
    if (original.what == op::open && done.result >= 0) {
      self.paths_[static_cast<int>(done.result)] = original.path;
    }
    self.idle_.push_back(&done);
    --self.under_way_;
    original.run_(original);
  };
  real_.submit(s);
}

void rough_backend::cancel(file_request& request) noexcept {
  request.cancelled = true;
  if (request.backend_data) real_.cancel(*static_cast<stand_in*>(request.backend_data));
}

bool rough_backend::try_complete(file_request& request) noexcept {
  if (happens(rates_.not_cached)) return false;
  if (request.what == op::open) {
    const bool opened = real_.try_complete(request);
    if (opened && request.result >= 0) paths_[static_cast<int>(request.result)] = request.path;
    return opened;
  }
  if (request.what != op::read) return real_.try_complete(request);
  const std::size_t wanted = request.size;
  request.size = scaled_count(wanted);
  const bool done = real_.try_complete(request);
  request.size = wanted;
  return done;
}

}  // namespace soak
