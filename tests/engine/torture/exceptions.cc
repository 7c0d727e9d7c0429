// Exceptions that cross frames, threads and libraries: thrown deep below a recursion with
// destructors on the way, carried to other threads, out of a comparison in std::sort and a callback
// of qsort, rethrown, and out of a thread that is cancelled.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> alive{0}, destroyed{0};
struct counted {
    counted() { alive++; }
    counted(const counted &) { alive++; }
    ~counted() { alive--; destroyed++; }
};
static thread_local counted per_thread;

__attribute__((noinline)) static int deep(int n, int what)
{
    counted here;
    if (n > 0)
        return deep(n - 1, what) + 1;
    switch (what % 4) {
    case 0: throw std::runtime_error("deep " + std::to_string(what));
    case 1: throw what;
    case 2: throw std::make_shared<int>(what);
    default: return static_cast<int>(reinterpret_cast<std::size_t>(&per_thread) & 0);
    }
}

static long thrower(int id)
{
    long sum = 0;
    for (int i = 0; i < 400; i++)
        try {
            try {
                sum += deep(i % 30, i + id);
            } catch (const std::exception &e) {
                sum += static_cast<long>(std::string(e.what()).size());
                throw;
            }
        } catch (int v) {
            sum += v;
        } catch (const std::shared_ptr<int> &p) {
            sum += *p * 2;
        } catch (...) {
            sum += 1000;
        }
    return sum;
}

static int compare(const void *a, const void *b)
{
    int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);
    if (x == 777 || y == 777)
        throw std::logic_error("from a comparison");
    return x - y;
}

int main()
{
    std::vector<std::thread> threads;
    std::vector<long> sums(16);
    for (int i = 0; i < 16; i++)
        threads.emplace_back([i, &sums] { sums[i] = thrower(i); });
    for (auto &t : threads)
        t.join();
    for (long s : sums)
        std::cout << s << ' ';
    std::exception_ptr carried;
    std::thread([&] { try { deep(50, 4); } catch (...) { carried = std::current_exception(); } }).join();
    try { std::rethrow_exception(carried); } catch (const std::exception &e) { std::cout << e.what() << ' '; }
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 32; i++)
        futures.push_back(std::async(std::launch::async, [i] { return deep(i, i); }));
    int caught = 0;
    for (auto &f : futures)
        try { f.get(); } catch (...) { caught++; }
    std::vector<int> v(1000);
    for (int i = 0; i < 1000; i++)
        v[i] = i * 7919 % 1000;
    try { std::sort(v.begin(), v.end(), [](int a, int b) { if (a == 500) throw 1; return a < b; }); } catch (int) { caught++; }
    try { std::qsort(v.data(), v.size(), sizeof(int), compare); } catch (const std::logic_error &) { caught++; }
    std::cout << caught << ' ' << (alive.load() <= 1) << '\n';
}
