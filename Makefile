# Front door. `make demo` shows what the program does, `make test` runs every test; both install what is
# missing when run as root on Debian, and otherwise say what to install. CMake does the building.
# `make bench` compares with other programs and with what is true; BENCH=slowdown runs that part alone, BENCH_ROUNDS=N
# repeats it N times.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
RELEASE := build/release
SANITIZED := build/asan-ubsan

.PHONY: all demo test test-release test-sanitized bench torture install format clean

all:
	@scripts/setup.sh build
	@cmake --preset release -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@echo "built $(RELEASE)/roofline"

demo: all
	@scripts/demo.sh $(CURDIR)/$(RELEASE)/roofline $(CURDIR)

test: test-sanitized test-release

test-release:
	@scripts/setup.sh build test
	@cmake --preset ci -DBUILD_TESTING=ON >/dev/null
	@cmake --build --preset ci -j $(JOBS)
	@ctest --preset ci -j $(JOBS)

test-sanitized:
	@scripts/setup.sh build test
	@cmake --preset asan-ubsan >/dev/null
	@cmake --build --preset asan-ubsan -j $(JOBS)
	@ctest --preset asan-ubsan -j $(JOBS) -LE 'lint|engine|slow'

bench: all
	@scripts/setup.sh bench
	@scripts/bench.sh $(RELEASE)/roofline $(BENCH)

torture: test-release
	@ctest --test-dir $(RELEASE) -C torture -L torture --output-on-failure

install: all
	@cmake --install $(RELEASE) $(if $(DESTDIR),--strip) >/dev/null
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi
	@echo "installed below $(DESTDIR)$(PREFIX)"

format:
	@find src include tests examples -name '*.[ch]' | xargs clang-format -i

clean:
	rm -rf build
