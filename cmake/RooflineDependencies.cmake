# Third-party libraries, each known by one module only (see ARCHITECTURE.md).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(libdw REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(cairo REQUIRED IMPORTED_TARGET pangocairo cairo cairo-svg cairo-pdf)

find_library(ZYDIS_LIBRARY Zydis REQUIRED)
find_path(ZYDIS_INCLUDE Zydis/Zydis.h REQUIRED)
add_library(zydis INTERFACE)
target_include_directories(zydis SYSTEM INTERFACE "${ZYDIS_INCLUDE}")
target_link_libraries(zydis INTERFACE "${ZYDIS_LIBRARY}")

find_library(CHOLMOD_LIBRARY cholmod REQUIRED)
find_path(CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse REQUIRED)
add_library(cholmod INTERFACE)
target_include_directories(cholmod SYSTEM INTERFACE "${CHOLMOD_INCLUDE}")
target_link_libraries(cholmod INTERFACE "${CHOLMOD_LIBRARY}")

if(BUILD_TESTING)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
