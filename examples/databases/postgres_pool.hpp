#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "postgres.hpp"

namespace postgres {

//! [pool]
// Connections that tasks of one scheduler share. A lease returns its connection, or closes it if it
// is not idle: in a transaction, in a query, or lost.
class pool {
  struct state {
    std::string conninfo;
    leat::semaphore permits;
    std::vector<connection> idle = {};
  };

 public:
  struct lease {
    ~lease() {
      if (used && used->is_idle()) owner->idle.push_back(std::move(*used));
    }
    lease(lease&& other) noexcept = default;
    lease(std::shared_ptr<state> s, leat::semaphore::guard g)
        : owner(std::move(s)), permit(std::move(g)) {}
    connection* operator->() { return &*used; }

    std::shared_ptr<state> owner;
    leat::semaphore::guard permit;
    std::optional<connection> used = {};
  };

  pool(std::string conninfo, std::size_t size)
      : state_(new state{std::move(conninfo), leat::semaphore(size, "connections")}) {
    state_->idle.reserve(size);
  }

  leat::task<lease> acquire() {
    auto permit = co_await state_->permits.acquire();
    lease l(state_, std::move(permit));
    for (auto& idle = state_->idle; !idle.empty() && !l.used;) {
      connection c = std::move(idle.back());
      idle.pop_back();
      if (c.is_idle()) l.used.emplace(std::move(c));  // false: the server has closed it
    }
    if (!l.used) l.used.emplace(co_await connection::open(state_->conninfo));
    co_return l;
  }

 private:
  std::shared_ptr<state> state_;
};
//! [/pool]

}  // namespace postgres
