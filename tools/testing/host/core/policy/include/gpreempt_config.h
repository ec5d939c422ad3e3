/* SPDX-License-Identifier: MIT */
/* gpreempt_config.h - the Makefile says which options are on */
