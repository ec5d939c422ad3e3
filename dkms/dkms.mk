# SPDX-License-Identifier: MIT
#
# dkms.mk - building and installing the kernel module; included by the top Makefile, whose folder is $(TOP)
#
#   make modules [FLAVOUR=release|test] [KVER=...]   build amdgpu.ko, print its path
#   make install [KVER=...] [DRIVER=amd|kernel]      hand the package to DKMS: build and install for one kernel, or into AMD's amdgpu-dkms
#   make uninstall                                   the reverse
#                                                    both: DRY_RUN=1 says what would be done; DESTDIR= is refused
TOP ?= $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))..))
KVER ?= $(shell uname -r)
FLAVOUR ?= release

.PHONY: modules install uninstall

modules:
	@$(TOP)/dkms/build.sh --kver $(KVER) --flavour $(FLAVOUR)

DKMS_INSTALL = $(TOP)/dkms/install.sh $(if $(DESTDIR),--destdir $(DESTDIR)) $(if $(DRY_RUN),--dry-run)

install:
	@$(DKMS_INSTALL) $(if $(filter command line environment,$(origin KVER)),--kver $(KVER)) $(if $(DRIVER),--driver $(DRIVER))

uninstall:
	@$(DKMS_INSTALL) --remove
