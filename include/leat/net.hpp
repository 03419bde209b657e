#pragma once

// Connections, listeners and names: the network.

#include "leat/net/connect.hpp"
#include "leat/net/connection.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/connection_status.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/net/listener.hpp"
#include "leat/net/listener_statistics.hpp"
#include "leat/net/network_backend.hpp"
