#include "symbol/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are left mangled: demanglers take exponential room on crafted ones. */
#define LONGEST_NAME 16384

void rl_demangler_init(struct rl_demangler *demangler)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    *demangler = (struct rl_demangler){0};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && !demangler->cxx; i++) {
        demangler->library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *symbol = demangler->library ? dlsym(demangler->library, "__cxa_demangle") : NULL;
        memcpy(&demangler->cxx, &symbol, sizeof symbol);
    }
}

void rl_demangler_release(struct rl_demangler *demangler)
{
    if (demangler->library)
        dlclose(demangler->library);
    *demangler = (struct rl_demangler){0};
}

/* "::h" and 16 hexadecimal digits: Rust's legacy scheme borrows C++'s and adds a hash. */
static bool has_rust_hash(const char *name, size_t length)
{
    if (length < 20 || memcmp(name + length - 19, "::h", 3))
        return false;
    for (size_t i = length - 16; i < length; i++)
        if (!isxdigit((unsigned char)name[i]))
            return false;
    return true;
}

static const struct {
    const char *code;
    char text;
} rust_escapes[] = {{"$BP$", '*'},  {"$C$", ','},   {"$GT$", '>'},  {"$LP$", '('},  {"$LT$", '<'},
                    {"$RF$", '&'},  {"$RP$", ')'},  {"$SP$", '@'},  {"$u20$", ' '}, {"$u27$", '\''},
                    {"$u2b$", '+'}, {"$u3b$", ';'}, {"$u5b$", '['}, {"$u5d$", ']'}, {"$u7b$", '{'},
                    {"$u7d$", '}'}, {"$u7e$", '~'}};

/* Rewrite the escapes in place; the text only gets shorter. */
static void unescape_rust(char *name)
{
    char *to = name;
    for (const char *from = name; *from;) {
        size_t i, n = sizeof rust_escapes / sizeof rust_escapes[0];
        for (i = 0; i < n; i++)
            if (!strncmp(from, rust_escapes[i].code, strlen(rust_escapes[i].code)))
                break;
        if (i < n) {
            *to++ = rust_escapes[i].text;
            from += strlen(rust_escapes[i].code);
        } else if (from[0] == '_' && from[1] == '$' && (from == name || from[-1] == ':')) {
            from++; /* an underscore keeps an escaped first letter from starting a name */
        } else if (from[0] == '.' && from[1] == '.') {
            *to++ = ':', *to++ = ':';
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static char *demangle_cxx(const struct rl_demangler *demangler, const char *name)
{
    int status = 0;
    char *text = demangler->cxx ? demangler->cxx(name, NULL, NULL, &status) : NULL;
    if (text && has_rust_hash(text, strlen(text))) {
        text[strlen(text) - 19] = '\0';
        unescape_rust(text);
    }
    return text;
}

/* gfortran: __module_MOD_procedure; Intel and LLVM: module_mp_procedure_, _QMmodulePprocedure. */
static char *demangle_fortran(const char *name)
{
    const char *module = NULL, *separator = NULL, *procedure = NULL;
    size_t length = strlen(name);
    if (!strncmp(name, "__", 2) && (separator = strstr(name + 2, "_MOD_"))) {
        module = name + 2;
        procedure = separator + 5;
    } else if ((separator = strstr(name, "_mp_")) && length && name[length - 1] == '_') {
        module = name;
        procedure = separator + 4;
        length--;
    } else if (!strncmp(name, "_QM", 3) && (separator = strchr(name + 3, 'P'))) {
        module = name + 3;
        procedure = separator + 1;
    }
    if (!module || separator == module || procedure >= name + length)
        return NULL;
    size_t n_module = (size_t)(separator - module),
           n_procedure = length - (size_t)(procedure - name);
    char *text = malloc(n_module + n_procedure + 3);
    if (!text)
        return NULL;
    memcpy(text, module, n_module);
    memcpy(text + n_module, "::", 2);
    memcpy(text + n_module + 2, procedure, n_procedure);
    text[n_module + 2 + n_procedure] = '\0';
    return text;
}

/* "free@@GLIBC_2.2.5": the version belongs to the linker. */
static char *without_version(const char *name)
{
    size_t n = strcspn(name, "@");
    return n && name[n] ? strndup(name, n) : NULL;
}

char *rl_demangle(const struct rl_demangler *demangler, const char *name)
{
    char *text = NULL;
    if (strlen(name) <= LONGEST_NAME) {
        if (!strncmp(name, "_Z", 2) || !strncmp(name, "___Z", 4))
            text = demangle_cxx(demangler, name);
        else if (!strncmp(name, "_R", 2))
            text = rl_demangle_rust_v0(name);
        else
            text = demangle_fortran(name);
        if (!text)
            text = without_version(name);
    }
    return text ? text : strdup(name);
}
