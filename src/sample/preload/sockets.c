/* Calls on sockets that have a time limit return at any signal with a handler, whether or not that
 * asks for system calls to be taken up again: signal(7). Others are taken up, so our signal is kept
 * back only once the program has set such a limit. Each calls the one behind it and changes nothing
 * when sampling is off. */
#include "sample/preload/wait.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static bool any_limit;

static int (*next_setsockopt)(int, int, int, const void *, socklen_t);
FIND_EARLY(next_setsockopt, setsockopt, NULL)

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t n)
{
    preload_find_next(&next_setsockopt, "setsockopt");
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
        __atomic_store_n(&any_limit, true, __ATOMIC_RELAXED);
    return next_setsockopt(fd, level, name, value, n);
}

#define LIMITED(type, name, parameters, arguments)                                                 \
    WAIT_IF(__atomic_load_n(&any_limit, __ATOMIC_RELAXED), type, name, parameters, arguments)

LIMITED(int, accept, (int fd, __SOCKADDR_ARG address, socklen_t *n), (fd, address, n))
LIMITED(int, accept4, (int fd, __SOCKADDR_ARG address, socklen_t *n, int flags),
        (fd, address, n, flags))
LIMITED(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t n), (fd, address, n))
LIMITED(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
LIMITED(ssize_t, readv, (int fd, const struct iovec *to, int n), (fd, to, n))
LIMITED(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
LIMITED(ssize_t, recvfrom,
        (int fd, void *to, size_t n, int flags, __SOCKADDR_ARG address, socklen_t *n_address),
        (fd, to, n, flags, address, n_address))
LIMITED(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
LIMITED(int, recvmmsg,
        (int fd, struct mmsghdr *messages, unsigned n, int flags, struct timespec *timeout),
        (fd, messages, n, flags, timeout))
LIMITED(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
LIMITED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
LIMITED(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned n, int flags),
        (fd, messages, n, flags))
LIMITED(ssize_t, sendto,
        (int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG address,
         socklen_t n_address),
        (fd, from, n, flags, address, n_address))
LIMITED(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
LIMITED(ssize_t, writev, (int fd, const struct iovec *from, int n), (fd, from, n))

/* What they are under _FORTIFY_SOURCE. */
EXPORT ssize_t __read_chk(int fd, void *to, size_t n, size_t bytes);
LIMITED(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t bytes), (fd, to, n, bytes))
EXPORT ssize_t __recv_chk(int fd, void *to, size_t n, size_t bytes, int flags);
LIMITED(ssize_t, __recv_chk, (int fd, void *to, size_t n, size_t bytes, int flags),
        (fd, to, n, bytes, flags))
EXPORT ssize_t __recvfrom_chk(int fd, void *to, size_t n, size_t bytes, int flags,
                              __SOCKADDR_ARG address, socklen_t *n_address);
LIMITED(ssize_t, __recvfrom_chk,
        (int fd, void *to, size_t n, size_t bytes, int flags, __SOCKADDR_ARG address,
         socklen_t *n_address),
        (fd, to, n, bytes, flags, address, n_address))
