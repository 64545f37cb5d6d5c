JOBS ?= $(shell nproc)
ONLY ?=
SECONDS ?= 60

.PHONY: help demo test test-arm64 package npm-package fuzz bench bench-busy bench-threads docs lint sanitize clean
.NOTPARALLEL:

help:
	@echo 'make demo             build everything the demo needs, and run it'
	@echo 'make test             build and run the tests'
	@echo 'make test-arm64       the tests of ops and kernels, for arm64, in an emulator'
	@echo 'make package          Debian packages and an archive that runs anywhere, in build/packages'
	@echo 'make npm-package      npm packages that install anywhere, in build/packages'
	@echo 'make fuzz [SECONDS=n] new random programs for n seconds; 0 for ever'
	@echo 'make bench [ONLY=x]   the benchmarks, side by side with peers'
	@echo 'make bench-busy       the same beside processes that take the cores away'
	@echo 'make bench-threads    on 1, 2, 4, ... threads, beside PyTorch where python3 has it'
	@echo 'make docs             the documentation, as pages in build/docs'
	@echo 'make lint             format, layers, file length, clang-tidy'
	@echo 'make sanitize         the tests under ASan + UBSan, the concurrent ones under TSan'
	@echo 'make clean            remove build/'
	@echo
	@echo 'Each installs the Debian packages it lacks, configures and builds first.'

demo:
	@tools/setup base
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j$(JOBS) --target example_demo example_co2_forecast \
		example_recorded_training tenure_program
	@build/release/examples/demo
	@build/release/examples/co2_forecast
	@build/release/examples/recorded_training build/release/training.tenure
	@build/release/apps/tenure/tenure report build/release/training.tenure \
		-o build/release/training.html
	@echo 'Open it in a browser: file://$(CURDIR)/build/release/training.html'

test:
	@tools/setup base browser package
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j$(JOBS)
	@ctest --preset release

test-arm64:
	@tools/setup arm64
	@tools/arm64_sysroot
	@cmake --preset arm64 --log-level=WARNING
	@cmake --build --preset arm64 -j$(JOBS)
	@ctest --preset arm64

package:
	@tools/setup base package
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j$(JOBS) --target tenure tenure_program
	@rm -rf build/packages/*.deb build/packages/*.tar.gz
	@cpack --config build/release/CPackConfig.cmake -B '$(CURDIR)/build/packages'
	@rm -r build/packages/_CPack_Packages

npm-package:
	@tools/setup base package
	@cmake --preset release --log-level=WARNING
	@rm -f build/packages/*.tgz
	@cmake --build --preset release -j$(JOBS) --target npm_package

fuzz:
	@tools/setup base
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j$(JOBS) --target fuzz_programs
	@build/release/tests/programs/fuzz_programs --seconds $(SECONDS)

bench:
	@tools/setup base bench
	@cmake --preset release --log-level=WARNING -DTENURE_BENCH=ON
	@cmake --build --preset release -j$(JOBS) --target bench
	@cmake --preset release -B build/release-nolife --log-level=WARNING \
		-DTENURE_BENCH=ON -DTENURE_TESTS=OFF -DTENURE_LIFETIMES=OFF
	@cmake --build build/release-nolife -j$(JOBS) --target bench_tenure
	@ONLY='$(ONLY)' bench/run

bench-busy:
	@tools/setup base bench
	@cmake --preset release --log-level=WARNING -DTENURE_BENCH=ON
	@cmake --build --preset release -j$(JOBS) --target bench
	@ONLY='$(ONLY)' bench/busy

bench-threads:
	@tools/setup base
	@cmake --preset release --log-level=WARNING -DTENURE_BENCH=ON
	@cmake --build --preset release -j$(JOBS) --target bench_tenure
	@ONLY='$(ONLY)' bench/threads

docs:
	@tools/setup base docs
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j$(JOBS) --target print_ops
	@build/release/tests/print_ops > docs/ops.md
	@tools/check_links
	@tools/docs/build

lint:
	@tools/setup base lint
	@git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' | \
		xargs -0r clang-format-19 --dry-run -Werror
	@tools/check_layers
	@tools/check_file_length
	@cmake --preset lint --log-level=WARNING
	@tools/tidy -j $(JOBS)

sanitize:
	@tools/setup base browser sanitize
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan -j$(JOBS)
	@ctest --preset asan
	@cmake --preset tsan --log-level=WARNING
	@cmake --build --preset tsan -j$(JOBS)
	@ctest --preset tsan

clean:
	@rm -rf build
