/* fills MIB: writes to so many MiB of memory, reads them back and sums up. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 1) << 20;
    uint8_t *memory = malloc(bytes);
    double sum = 0;
    if (!memory)
        return 2;
    memset(memory, 1, bytes);
    for (size_t i = 0; i < bytes; i++)
        sum += memory[i];
    printf("%.0f\n", sum);
    return 3;
}
