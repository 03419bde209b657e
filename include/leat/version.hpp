#pragma once

/// The version of these headers, 100 for 0.1.0: major * 10000 + minor * 100 + patch.
#define LEAT_VERSION 100

/// The version as text.
#define LEAT_VERSION_STRING "0.1.0"
