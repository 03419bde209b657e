#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include "leat/base/asio.hpp"
#include "leat/base/internal/descriptor.hpp"
#include "leat/net/network_backend.hpp"

#include LEAT_ASIO(posix/basic_stream_descriptor.hpp)

namespace LEAT::detail {

/// Identifies the file of a Unix socket; empty if the path is not one.
struct socket_file {
  socket_file() = default;
  explicit socket_file(const std::string& path) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return number != 0; }
  friend bool operator==(const socket_file&, const socket_file&) = default;

  std::uint64_t device = 0;
  std::uint64_t number = 0;
};

/// A socket of the kernel that listens. Asio only reports that it is readable.
class asio_acceptor final : public network_acceptor {
 public:
  /// Listens. Errors: system errors, with the address.
  asio_acceptor(scheduler& s, const endpoint& at, const listen_options& options);
  /// Adopts a socket that listens. Errors: invalid_argument; system errors. It is then closed.
  asio_acceptor(scheduler& s, descriptor& listening);
  ~asio_acceptor() override { close(); }

  [[nodiscard]] std::unique_ptr<network_stream> accept(asio_error_code& error) override;
  void wait(work_item& ready) override;
  void stop_waiting() noexcept override;
  void close() noexcept override;
  [[nodiscard]] std::size_t backlog() const noexcept override;
  [[nodiscard]] endpoint local() const override { return local_; }

 private:
  using watched = asio::posix::basic_stream_descriptor<scheduler_executor>;

  void watch(descriptor& listening);
  [[nodiscard]] int number() const noexcept {
    return const_cast<watched&>(socket_).native_handle();  // which changes nothing
  }

  scheduler& scheduler_;
  watched socket_;
  // The item that a wait posts. Shared with its handler, which may outlive this object; null after
  // close().
  std::shared_ptr<work_item*> target_ = std::make_shared<work_item*>(nullptr);
  connection_options accepted_;
  endpoint local_;
  // The file of a Unix socket. Another process may have replaced it: then it stays. It also stays
  // in a child of fork().
  std::string path_;
  const unsigned generation_;
  socket_file file_;
};

}  // namespace LEAT::detail
