# rl_module(<name> SOURCES <files…> [LINKS <modules…>] [USES <third-party targets…>])
#
# One folder of src/ as a static library `rl_<name>`. LINKS names the modules whose contract headers
# it includes; USES the libraries only its own .c files know, so their headers never leak upward.

# What enters users' programs links these alone: a sanitizer's runtime must come first in a program,
# so an object that brings one along cannot be preloaded into a program without.
add_library(rl_plain_flags INTERFACE)
target_include_directories(rl_plain_flags INTERFACE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(rl_plain_flags INTERFACE _GNU_SOURCE)
target_compile_options(rl_plain_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wshadow;-Wstrict-prototypes;-Wmissing-prototypes;-Wvla;-Wpointer-arith;-Wundef;-Wformat=2;-Wwrite-strings;-Wold-style-definition>)
if(ROOFLINE_WERROR)
    target_compile_options(rl_plain_flags INTERFACE -Werror)
endif()

add_library(rl_flags INTERFACE)
target_link_libraries(rl_flags INTERFACE rl_plain_flags)
if(ROOFLINE_SANITIZE)
    target_compile_options(rl_flags INTERFACE
        -fsanitize=${ROOFLINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(rl_flags INTERFACE -fsanitize=${ROOFLINE_SANITIZE})
endif()

# Everything that tests link: each module adds itself.
add_library(rl_all INTERFACE)

function(rl_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;USES" ${ARGN})
    add_library(rl_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(rl_${name} PUBLIC rl_flags PRIVATE ${ARG_USES})
    foreach(module IN LISTS ARG_LINKS)
        target_link_libraries(rl_${name} PUBLIC rl_${module})
    endforeach()
    target_link_libraries(rl_all INTERFACE rl_${name})
endfunction()
