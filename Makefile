# SPDX-License-Identifier: MIT
#
# Makefile - the front door. `make` alone prints help; nothing here changes the system except install, uninstall and the
# Debian packages that check and demo add (tools/testing/deps.sh).

TOP := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
BUILD ?= $(TOP)/build
GPREEMPT_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kfd_gpreempt
VGPU_CACHE := $(GPREEMPT_CACHE)
export BUILD GPREEMPT_CACHE VGPU_CACHE

# OUT= and the like are meant for this file; the makes below it have variables of the same names.
MAKEOVERRIDES :=

.DEFAULT_GOAL := help
.PHONY: help check check-full check-debug check-kcsan check-package deb rpm htmldocs upstream-series demo shell bench testbed probe tools tools-built install-tools uninstall-tools install-tests clean

help:
	@echo "kfd_gpreempt: software-priority, preemptive scheduling of compute queues inside amdkfd"
	@echo
	@echo "No AMD GPU needed, as root on Debian 12 or 13 (adds Debian packages, runs in virtual machines):"
	@echo "  make demo  [OUT=dir] [BY=class]    two programs on a virtual GPU, without and with scheduling"
	@echo "  make demo  KERNELS=hip             the same with HIP programs; the virtual GPU executes them"
	@echo "  make demo  KERNELS=llm             with Debian's llama.cpp beside its rocBLAS: some gigabytes"
	@echo "  make shell [GPU=mi210] [OUT=dir]   look around on a machine with a virtual Instinct"
	@echo "  make bench [OUT=dir] [DOCUMENT=1]  schedulers compared on published workloads: tables, plots"
	@echo "  make check [OUT=dir] [SUITE='..']  all tests, or the named suites; check.json"
	@echo "  make check LAYER=core              those that a change of kfd_gpreempt/core needs"
	@echo "  make check GPU=gfx942x2            those that need a GPU, on another: gfx942[xN], gfx1100,"
	@echo "                                     mi308x, verbatim, gfx942x2,verbatim"
	@echo "  make check GPUS=2                  in machines with so many GPUs, 1 to 8; GPU= goes with it"
	@echo "  make check-full [OUT=dir]          the extended suites as well, then check-debug"
	@echo "  make check-debug, check-kcsan [OUT=dir] [SUITE='..']"
	@echo "                                     on a kernel that looks for mistakes, or for data races"
	@echo "  make check-package [OUT=dir]       packages in throw-away systems, pages, Slurm, OCI hook"
	@echo "KERNEL=7.3 of demo, check, check-debug, check-kcsan: on another, tools/testing/vm/kernels"
	@echo
	@echo "For a machine with an Instinct GPU:"
	@echo "  make modules [KVER=..]             build amdgpu.ko with the scheduler, print its path"
	@echo "  make install [KVER=..] [DRIVER=amd|kernel] [DRY_RUN=1]"
	@echo "                                     hand the package to DKMS: build and install (root)"
	@echo "                                     amd: into AMD's amdgpu-dkms; kernel: the kernel's amdgpu"
	@echo "  make uninstall [DRY_RUN=1]         remove it; the driver without it is back (root)"
	@echo "  DRY_RUN=1                          say what would be done, and change nothing"
	@echo
	@echo "For every machine with an Instinct GPU, unpatched (gcc, libjson-c-dev, linux-source-6.12):"
	@echo "  make probe [STATIC=1]              build preempt-probe: what a preemption costs there"
	@echo
	@echo "Control from user space (libjson-c-dev, libncurses-dev, libsmartcols-dev, scdoc):"
	@echo "  make tools                         build gpreemptctl, gpreemptd and libgpreempt into build/"
	@echo "  make install-tools [PREFIX=/usr/local] [DESTDIR=]"
	@echo "                                     install them, with services, a udev rule and completion"
	@echo "  make uninstall-tools               remove them; /etc/gpreempt.conf stays"
	@echo "  make install-tests [PREFIX=/usr/local] [DESTDIR=]"
	@echo "                                     kselftests and the hardware profile: hardware-testing.rst"
	@echo
	@echo "Others:"
	@echo "  make deb                           Debian packages, into build/deb"
	@echo "  make rpm   [SOURCE=1]              packages for EL8 and EL9, into build/rpm (root); the source"
	@echo "                                     package alone"
	@echo "  make htmldocs                      the documentation, into build/htmldocs"
	@echo "  make upstream-series OUT=dir       the same as patches for a kernel tree"
	@echo "  make testbed                       what a test VM needs except amdgpu.ko"
	@echo "  make clean                         remove build/; kernels stay in \$$GPREEMPT_CACHE"
	@echo
	@echo "README.md says more."

# Tests and demo run on the newest 6.12 kernel whose headers are installed, whatever this machine runs.
ifeq ($(FLAVOUR),test)
KVER ?= $(shell $(TOP)/tools/testing/vm/vm kver)
endif
include $(TOP)/dkms/dkms.mk

check:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/check.py $(if $(OUT),--out $(OUT)) $(if $(GPU),--gpu $(GPU)) $(if $(GPUS),--gpus $(GPUS)) $(if $(KERNEL),--kernel $(KERNEL)) $(if $(LAYER),--layer $(LAYER)) $(SUITE)

check-full:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/check.py --full $(if $(OUT),--out $(OUT))

check-debug:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/check.py --debug $(if $(OUT),--out $(OUT)) $(if $(KERNEL),--kernel $(KERNEL)) $(SUITE)

check-kcsan:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/check.py --kcsan $(if $(OUT),--out $(OUT)) $(if $(KERNEL),--kernel $(KERNEL)) $(SUITE)

check-package:
	@$(TOP)/tools/testing/deps.sh --package
	@$(TOP)/tools/testing/check.py --package $(if $(OUT),--out $(OUT))

# Without root the source package alone can be made.
rpm:
	@$(TOP)/tools/testing/deps.sh --package
	@$(TOP)/dist/rpm/build $(if $(SOURCE),--source)

deb:
	@$(TOP)/tools/testing/deps.sh --package
	@$(TOP)/dist/deb

htmldocs:
	@$(TOP)/tools/testing/deps.sh --package
	@$(TOP)/Documentation/build

upstream-series:
	@$(TOP)/dist/upstream/make_series.py $(or $(OUT),$(BUILD)/upstream-series)

demo:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/bench/demo/demo.py $(if $(OUT),--out $(OUT)) $(if $(BY),--by $(BY)) $(if $(KERNELS),--kernels $(KERNELS)) $(if $(KERNEL),--kernel $(KERNEL))

shell: testbed tools-built
	@$(TOP)/dkms/build.sh --flavour test --kver $$($(TOP)/tools/testing/vm/vm kver)
	@$(TOP)/tools/testing/vm/vm shell --gpu $(or $(GPU),mi210) $(if $(OUT),--out $(OUT))

bench:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/bench/bench.py $(if $(OUT),--out $(OUT)) $(if $(DOCUMENT),--document)

# COMPILE_IN: what runs a command where modules for the VM's kernel can be compiled, if that is not here
# (Beside objects there are their dependencies, *.d.)
GUEST_PROGRAMS = $(MAKE) -s --no-print-directory -C $(TOP)/tools/testing/selftests/kfd_gpreempt BUILD=$(BUILD)
testbed:
	@$(TOP)/tools/testing/deps.sh
	@$(TOP)/tools/testing/vm/vm fetch
	@$(COMPILE_IN) $(MAKE) -s --no-print-directory -C $(TOP)/tools/vgpu
	@+$(TOP)/dkms/progress.sh --files $$($(GUEST_PROGRAMS) -n | grep -c ' -o ') "compiling programs for the VM" '*[!d]' \
		$(BUILD)/selftests $(BUILD)/guest -- $(GUEST_PROGRAMS)

probe:
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/preempt-probe BUILD=$(BUILD) STATIC=$(STATIC)
	@echo $(BUILD)/preempt-probe/preempt-probe

PREFIX ?= /usr/local
FOLDERS := DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) $(if $(LIBDIR),LIBDIR=$(LIBDIR))

TOOLS := lib gpreemptctl gpreemptd
tools:
	@mkdir -p $(addprefix $(BUILD)/,$(TOOLS))
	@$(TOP)/dkms/progress.sh --files $$($(MAKE) -s -n tools-built 2>/dev/null | grep -c ' -c -o ') "compiling the tools" '*.o' \
		$(addprefix $(BUILD)/,$(TOOLS)) -- $(MAKE) -s --no-print-directory tools-built

tools-built:
	@$(MAKE) -s --no-print-directory -C $(TOP)/lib O=$(BUILD)/lib
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/gpreemptctl O=$(BUILD)/gpreemptctl
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/gpreemptd O=$(BUILD)/gpreemptd

install-tools uninstall-tools: tools
	@$(MAKE) -s --no-print-directory -C $(TOP)/lib O=$(BUILD)/lib $(FOLDERS) $(@:-tools=)
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/gpreemptctl O=$(BUILD)/gpreemptctl $(FOLDERS) $(@:-tools=)
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/gpreemptd O=$(BUILD)/gpreemptd $(FOLDERS) $(@:-tools=)
	@$(if $(DESTDIR),,$(TOP)/dist/reload)

# For another machine as well: what is in DESTDIR can be copied.
install-tests:
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/testing/selftests/kfd_gpreempt BUILD=$(BUILD) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install
	@$(MAKE) -s --no-print-directory -C $(TOP)/tools/testing/hip BUILD=$(BUILD) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install

clean:
	rm -rf $(BUILD)
