# An overlay port: vcpkg install leat --overlay-ports=tools/packaging/vcpkg
# It compiles the tree that it lies in.

get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # one form serves programs of each build type: same ABI

set(runtime_only true)
if("files" IN_LIST FEATURES)
  set(runtime_only false)
endif()
set(io_uring disabled)
if("io-uring" IN_LIST FEATURES)
  set(io_uring enabled)
endif()

vcpkg_configure_meson(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -Druntime_only=${runtime_only}
    -Dio_uring=${io_uring}
    -Dtls=disabled
    -Dtool=disabled
    -Dtests=disabled
    -Dexamples=disabled
    -Dbenches=disabled
)
vcpkg_install_meson()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/leat)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
