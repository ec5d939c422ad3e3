# SPDX-License-Identifier: MIT
#
# hip.mk - makes $(OUT)/hip_NAME of NAME.cpp, by default for gfx90a and by Debian's hipcc; prints nothing. Included with OUT and
# VGPU_CACHE set, by a name relative to the folder that make runs in.

HIPCC ?= hipcc
ARCH ?= gfx90a
HIP_SOURCES := $(dir $(lastword $(MAKEFILE_LIST)))
vpath %.cpp $(HIP_SOURCES)

$(OUT)/hip_programs: $(HIP_SOURCES)kernels.cpp $(HIP_SOURCES)kernels.h

# HIP opens libamd_comgr by name. Linked, it and what it needs is among the libraries that the VM runner takes along.
# A sum of products is what the source says, on the device as on the CPU.
COMPILE = $(HIPCC) --offload-arch=$(ARCH) -O2 -ffp-contract=off -Wall -Wextra -Werror $(filter %.cpp,$^) -Wl,--no-as-needed -lamd_comgr

# ccache does not know HIP: what was made of the same by the same is kept here. 8 s of CPU for each new clone otherwise.
KEPT := $(VGPU_CACHE)/hip
$(OUT)/hip_%: %.cpp $(OUT)/.arch-$(ARCH) Makefile $(HIP_SOURCES)hip.mk
	@kept=$(KEPT)/$$({ echo "$(COMPILE)"; $(HIPCC) --version 2>/dev/null; cat $(filter-out $(OUT)/%,$^); } | sha256sum | cut -c1-32); \
	if [ ! -e $$kept ]; then \
		mkdir -p $(KEPT) && find $(KEPT) -type f -mtime +30 -delete && \
		$(COMPILE) -o $$kept.$$$$ && mv $$kept.$$$$ $$kept || exit 1; \
	fi; \
	cp $$kept $@

# Another ARCH makes programs for that device.
$(OUT)/.arch-$(ARCH):
	@mkdir -p $(OUT)
	@rm -f $(OUT)/.arch-*
	@touch $@
