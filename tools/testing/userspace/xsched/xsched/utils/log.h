/* SPDX-License-Identifier: MIT */
/* log.h - stand-in: warnings are counted and kept for the test */
#pragma once

#include <cstdarg>

void standin_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define XWARN(...) standin_warn(__VA_ARGS__)
