/* A loop whose first instruction has no line, as optimisers of LLVM leave some: with debugging
 * information of its own, as compilers that can be asked for it give such a place the line before.
 */
__asm__(".file 1 \"lineless.c\"\n"
        "\t.section .text.lineless, \"ax\", @progbits\n"
        "\t.globl lineless\n"
        "\t.type lineless, @function\n"
        "lineless:\n"
        "\tmov $100000000, %rax\n"
        "1:\tnop\n"
        "\t.loc 1 7\n"
        "\tdec %rax\n"
        "\tjnz 1b\n"
        "\tret\n"
        ".Lend:\n"
        "\t.size lineless, . - lineless\n"
        "\t.section .debug_abbrev, \"\", @progbits\n"
        ".Labbrev:\n"
        "\t.byte 1, 0x11, 0, 3, 8, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0, 0\n"
        "\t.section .debug_info, \"\", @progbits\n"
        "\t.long 2f - 1f\n"
        "1:\t.value 4\n"
        "\t.long .Labbrev\n"
        "\t.byte 8, 1\n"
        "\t.string \"lineless.c\"\n"
        "\t.long .Lline\n"
        "\t.quad lineless, .Lend - lineless\n"
        "2:\n"
        "\t.section .debug_line, \"\", @progbits\n"
        ".Lline:\n"
        "\t.text\n");

long lineless(void);

int main(void)
{
    return (int)lineless();
}
