# SPDX-License-Identifier: MIT
#
# ccache.mk - compile user-space tests through ccache; included with $(TOP) set to this tree
#
# Objects of another clone are as good: what ccache looks at is relative to the clone. A compiler of the caller's own is called as it is.
GPREEMPT_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kfd_gpreempt
CCACHE := $(if $(shell command -v ccache),ccache )
ifeq ($(origin CC),default)
CC := $(CCACHE)gcc
endif
ifeq ($(origin CXX),default)
CXX := $(CCACHE)g++
endif
export CCACHE_DIR ?= $(GPREEMPT_CACHE)/ccache
export CCACHE_BASEDIR := $(abspath $(TOP))
export CCACHE_NOHASHDIR := 1
