/* SPDX-License-Identifier: MIT */
/* gpreempt_config.h - Kbuild says which options are on */
