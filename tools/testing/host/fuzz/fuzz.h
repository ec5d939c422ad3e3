/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - a history of commands from several users, whose lots somebody else draws: a fuzzer's input, or a generator with a seed
 */
#ifndef HOST_FUZZ_H
#define HOST_FUZZ_H

#include "fake_amdkfd.h"

/**
 * struct fuzz_lots - where lots come from
 * @draw: so many bytes of them, at most 8
 * @left: there are some left
 */
struct fuzz_lots {
	u64 (*draw)(unsigned int bytes);
	bool (*left)(void);
};

/*
 * One device, from its first queue to its last: at most so many commands. At its end every queue has done its work, and nothing is left. Returns how
 * many commands there were.
 */
u64 fuzz_session(const struct fuzz_lots *lots, u64 commands);

#endif /* HOST_FUZZ_H */
