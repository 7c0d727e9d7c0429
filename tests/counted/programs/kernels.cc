// Templates and methods: names are demangled. Prints function, precision, FLOP.
#include <cstdio>
#include <vector>

namespace lin
{
template <class T> struct vector {
    std::vector<T> v;

    __attribute__((noinline)) T dot(const vector &other) const
    {
        T sum = 0;
        for (std::size_t i = 0; i < v.size(); i++)
            sum += v[i] * other.v[i];
        return sum;
    }
};
} // namespace lin

template <int N> __attribute__((noinline)) void scale(double *x, double s)
{
    for (int i = 0; i < N; i++)
        x[i] *= s;
}

int main()
{
    lin::vector<double> a{std::vector<double>(1001, 1.0)}, b{std::vector<double>(1001, 2.0)};
    lin::vector<float> c{std::vector<float>(500, 1.0f)};
    scale<333>(a.v.data(), 3.0);
    volatile double sum = a.dot(b);
    volatile float other = c.dot(c);
    (void)sum;
    (void)other;
    std::printf("lin::vector<double>::dot(lin::vector<double> const&) const\tfp64\t%d\n", 2 * 1001);
    std::printf("lin::vector<float>::dot(lin::vector<float> const&) const\tfp32\t%d\n", 2 * 500);
    std::printf("void scale<333>(double*, double)\tfp64\t%d\n", 333);
}
