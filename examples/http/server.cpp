/// An HTTP server of Boost.Beast in leat tasks: static files, /echo, /sleep?MS and /metrics.
///
///     http_server root=/srv/www port=8080
///     http_server root=/srv/www port=8443 certificate=server.pem key=server.key
///
/// The other options are limits: `header` is the time in ms to receive a header, for example, and
/// `header_size` its size in bytes. After SIGTERM or SIGINT, the requests that have arrived are
/// answered, and idle connections are closed. After `drain` ms, the server stops the remaining
/// connections and names them. A second signal terminates the process. The exit status is 0 if all
/// connections have ended, and 1 after an error or if the drain ran out of time.

#include <array>
#include <charconv>
#include <iostream>

#include "run_server.hpp"
#include "serve.hpp"

namespace {

using namespace http_server;

std::string_view type_of(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> types{{
      {".html", "text/html"},
      {".txt", "text/plain"},
      {".css", "text/css"},
      {".js", "text/javascript"},
      {".png", "image/png"},
  }};
  for (const auto& [end, type] : types)
    if (path.ends_with(end)) return type;
  return "application/octet-stream";
}

//! [file]
// The path of a request is not decoded: a file whose name needs %20 is not found. A name that
// begins with a dot is not found either, so no request leaves `root`, except through a link in it.
leat::task<response> get_file(std::string root, std::string path) {
  if (path.ends_with('/')) path += "index.html";
  try {
    if (path.find("/.") == path.npos) {
      leat::file file = co_await leat::file::open(root + path);
      if (file.status().is_regular) {
        response r{.message = {http::status::ok, 11}, .file = std::move(file)};
        r.message.set(http::field::content_type, type_of(path));
        co_return r;
      }
    }
  } catch (const leat::failure& e) {
    const std::error_code ec = e.code();
    const bool is_directory = ec == leat::errc::failed_precondition;
    const bool is_missing = ec == leat::errc::not_found || ec == leat::errc::permission_denied ||
                            ec == std::errc::filename_too_long;
    if (!is_directory && !is_missing) throw;  // such as too many open files
  }
  co_return text(http::status::not_found, "not found\n");
}
//! [/file]

//! [metrics]
response metrics(const service& s, long connections) {
  std::string body;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       long n) {
    body += "# HELP " + std::string(name) + ' ' + std::string(help) + "\n# TYPE " +
            std::string(name) + ' ' + std::string(type) + '\n' + std::string(name) + ' ' +
            std::to_string(n) + '\n';
  };
  add("http_requests_total", "counter", "Requests that were answered.", s.requests);
  add("http_errors_total", "counter", "Responses with a status of 400 or more.", s.failures);
  add("http_connections", "gauge", "Open connections.", connections);
  body += leat::metrics();
  response r = text(http::status::ok, std::move(body));
  r.message.set(http::field::content_type, leat::prometheus_content_type);
  return r;
}
//! [/metrics]

response not_allowed(std::string_view allowed) {
  response r = text(http::status::method_not_allowed, "method not allowed\n");
  r.message.set(http::field::allow, allowed);
  return r;
}

//! [route]
leat::task<response> answer(const request& req, const service& s, const std::string& root,
                            const long& connections) {
  const std::string target(req.target());
  const std::string path = target.substr(0, target.find('?'));
  const std::string query = target.substr(std::min(path.size() + 1, target.size()));
  const bool is_get = req.method() == http::verb::get || req.method() == http::verb::head;
  if (!path.starts_with('/')) co_return text(http::status::bad_request, "a path is needed\n");
  if (path == "/echo") {
    if (req.method() != http::verb::post) co_return not_allowed("POST");
    co_return text(http::status::ok, req.body());
  }
  if (!is_get) co_return not_allowed("GET, HEAD");
  if (path == "/metrics") co_return metrics(s, connections);
  if (path == "/sleep") {
    std::uint32_t ms = 0;
    const auto [end, error] = std::from_chars(query.data(), query.data() + query.size(), ms);
    if (error != std::errc() || end != query.data() + query.size() || ms > 60'000)
      co_return text(http::status::bad_request, "a number of ms up to 60000 is needed\n");
    co_await leat::sleep_for(milliseconds(ms));
    co_return text(http::status::ok, "slept\n");
  }
  co_return co_await get_file(root, path);
}
//! [/route]

//! [wiring]
leat::task<int> run(network::server_options options, limits limit, std::string root) {
  long connections = 0;
  service s{.limit = limit};
  s.handle = [&](const request& req) { return answer(req, s, root, connections); };
  const auto serve_one = [&](auto& stream) -> leat::task<> {
    struct counted {
      long& n;
      explicit counted(long& c) : n(c) { ++n; }
      ~counted() { --n; }
    } const open(connections);
    co_await serve(stream, s);
  };
  co_return co_await network::run_server(options, s.draining, serve_one);
}
//! [/wiring]

}  // namespace

int main(int argc, char** argv) try {
  network::arguments args(argc, argv);
  const auto options = network::read_options(args);
  const limits limit{.header_size = args.get("header_size", std::uint32_t{8 * 1024}),
                     .body_size = args.get("body_size", std::uint64_t{1024 * 1024}),
                     .idle = args.get("idle", 60'000ms),
                     .header = args.get("header", 10'000ms),
                     .body = args.get("body", 30'000ms),
                     .handler = args.get("handler", 30'000ms),
                     .write = args.get("write", 30'000ms)};
  const std::string root = args.get("root", std::string("."));
  args.require_no_others();
  return leat::run([&] { return run(options, limit, root); }, {.signals = {}});
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << '\n';
  return 2;
}
