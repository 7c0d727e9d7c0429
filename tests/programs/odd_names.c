/* Regions of names that nobody should give, and everybody may: the last two differ from each other
 * after what tells regions apart, and end in the middle of a character there. */
#include <roofline/region.h>
#include <stddef.h>

#define TEN                                                                                        \
    "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc" \
    "\xa2\xe6\xbc\xa2\xe6\xbc\xa2"

static const char *const names[] = {"",
                                    " ",
                                    "bad\xff\xfe byte",
                                    "cut\xe6",
                                    "bell\a and \033[31mred",
                                    "tab\tand\nline",
                                    "comma, quote\" and <&>",
                                    "=1+1",
                                    "%s%n",
                                    TEN TEN TEN TEN,
                                    TEN TEN TEN TEN "end"};

int main(void)
{
    volatile double x = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        roofline_region_begin(names[i]);
        for (int k = 0; k < 1000000; k++)
            x = x * 0.5 + 1;
        roofline_region_end(names[i]);
    }
    return 0;
}
