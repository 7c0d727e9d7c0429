/* Names as people wrote them. */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct name_case {
    const char *linkage, *readable;
};

static void check_names(const struct rl_demangler *demangler, const struct name_case *cases,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *name = rl_demangle(demangler, cases[i].linkage);
        assert_string_equal(name, cases[i].readable);
        free(name);
    }
}

static void cxx_names_are_demangled_by_the_runtime_library(void **state)
{
    (void)state;
    static const struct name_case cases[] = {
        {"_Z5saxpyiPKfPf", "saxpy(int, float const*, float*)"},
        {"_ZN3foo3barIdE4multERKS1_", "foo::bar<double>::mult(foo::bar<double> const&)"},
        {"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
        {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
        {"_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone"
         "17h0123456789abcdefE",
         "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
        {"_Znotmangled", "_Znotmangled"},
    };
    struct rl_demangler demangler;
    rl_demangler_init(&demangler);
    if (!demangler.cxx)
        skip();
    check_names(&demangler, cases, sizeof cases / sizeof cases[0]);
    rl_demangler_release(&demangler);
}

static void without_the_library_names_stay_as_they_are(void **state)
{
    (void)state;
    static const struct name_case cases[] = {{"_Z5saxpyiPKfPf", "_Z5saxpyiPKfPf"}};
    struct rl_demangler none = {0};
    check_names(&none, cases, 1);
}

static void fortran_module_procedures_show_their_module(void **state)
{
    (void)state;
    static const struct name_case cases[] = {
        {"__solver_MOD_step", "solver::step"},
        {"solver_mp_step_", "solver::step"},
        {"_QMsolverPstep", "solver::step"},
        {"dgemm_", "dgemm_"},
        {"MAIN__", "MAIN__"},
        {"__libc_start_main", "__libc_start_main"},
        {"___MOD_", "___MOD_"},
    };
    struct rl_demangler none = {0};
    check_names(&none, cases, sizeof cases / sizeof cases[0]);
}

static void go_and_c_names_lose_at_most_their_version(void **state)
{
    (void)state;
    static const struct name_case cases[] = {
        {"main.(*Matrix).Multiply", "main.(*Matrix).Multiply"},
        {"runtime.mallocgc", "runtime.mallocgc"},
        {"triad._omp_fn.0", "triad._omp_fn.0"},
        {"free@@GLIBC_2.2.5", "free"},
        {"@", "@"},
        {"", ""},
    };
    struct rl_demangler none = {0};
    check_names(&none, cases, sizeof cases / sizeof cases[0]);
}

/* The examples of RFC 2603 and of rustc's own tests, in the form without hashes. */
static void rust_v0_names_are_demangled(void **state)
{
    (void)state;
    static const struct name_case cases[] = {
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        {"_RINvNtCsbmNqQUJIY6D_4core3mem8align_ofjEC3foo", "core::mem::align_of::<usize>"},
        {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
        {"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
         "<std::path::PathBuf>::new"},
        {"_RNvXs5_NtCsd4VYFwevHkG_8bindings3ffiNtB5_3FooNtCs1_4core5Clone5clone",
         "<bindings::ffi::Foo as core::Clone>::clone"},
        {"_RINvC1a1fKj123_E", "a::f::<291>"},
        {"_RINvC1a1fRShTlbEE", "a::f::<&[u8], (i32, bool)>"},
        {"_RINvC1a1fFUKCjEuE", "a::f::<unsafe extern \"C\" fn(usize)>"},
        {"_RINvC1a1fDINtC1b2FnTlEEp6OutputuEL_E", "a::f::<dyn b::Fn<(i32,), Output = ()>>"},
        {"_RNvC1a1b.llvm.123", "a::b"},
    };
    struct rl_demangler none = {0};
    check_names(&none, cases, sizeof cases / sizeof cases[0]);
}

static void crafted_names_end_and_change_nothing(void **state)
{
    (void)state;
    struct rl_demangler demangler;
    rl_demangler_init(&demangler);
    char name[4096];
    static const char alphabet[] = "_RNvCIBTEjs0123456789abKLGFDZ";
    uint64_t seed = 7;
    for (unsigned round = 0; round < 20000; round++) {
        size_t n = 2 + seed % 60;
        name[0] = '_', name[1] = 'R';
        for (size_t i = 2; i < n; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            name[i] = alphabet[(seed >> 33) % (sizeof alphabet - 1)];
        }
        name[n] = '\0';
        char *text = rl_demangle(&demangler, name);
        assert_non_null(text);
        free(text);
    }
    /* References that double at every level would be astronomically long. */
    size_t at = (size_t)snprintf(name, sizeof name, "_RINvC1a1fTjjE");
    for (unsigned i = 0; i < 60; i++)
        at += (size_t)snprintf(name + at, sizeof name - at, "TB8_B8_E");
    char *text = rl_demangle(&demangler, name);
    assert_non_null(text);
    free(text);
    rl_demangler_release(&demangler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cxx_names_are_demangled_by_the_runtime_library),
        cmocka_unit_test(without_the_library_names_stay_as_they_are),
        cmocka_unit_test(fortran_module_procedures_show_their_module),
        cmocka_unit_test(go_and_c_names_lose_at_most_their_version),
        cmocka_unit_test(rust_v0_names_are_demangled),
        cmocka_unit_test(crafted_names_end_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
