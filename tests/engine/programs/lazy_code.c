/* Code in pages that another thread of the program puts there when they are first touched. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

enum { PAGE = 4096, PAGES = 64 };

static long faults;

static void *provide(void *arg)
{
    static const uint8_t code[] = {0xb8, 7, 0, 0, 0, 0xc3}; /* mov $7, %eax; ret */
    static uint8_t page[PAGE];
    struct uffd_msg message;
    memcpy(page, code, sizeof(code));
    while (read((int)faults, &message, sizeof(message)) == sizeof(message)) {
        struct uffdio_copy copy = {message.arg.pagefault.address & -(uint64_t)PAGE, (uint64_t)page,
                                   PAGE, 0, 0};
        ioctl((int)faults, UFFDIO_COPY, &copy);
    }
    return arg;
}

int main(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    pthread_t thread;
    int sum = 0;
    faults = syscall(SYS_userfaultfd, O_CLOEXEC);
    uint8_t *code = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {
        {(uint64_t)code, (uint64_t)PAGES * PAGE}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (faults < 0 || code == MAP_FAILED || ioctl((int)faults, UFFDIO_API, &api) ||
        ioctl((int)faults, UFFDIO_REGISTER, &range)) {
        puts("userfaultfd is not to be had");
        return 77;
    }
    pthread_create(&thread, NULL, provide, NULL);
    for (int i = 0; i < PAGES; i++)
        sum += ((int (*)(void))(code + (size_t)i * PAGE))();
    printf("%d\n", sum);
    return 6;
}
