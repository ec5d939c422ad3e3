#!/bin/bash
# SPDX-License-Identifier: MIT
#
# host.sh - preempt-probe without a GPU: it builds without a warning, refuses what cannot be right, and its machine code is that of wave.s
set -u
export LC_ALL=C
TOP=${TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
BUILD=${BUILD:-$TOP/build}
# shellcheck source=tools/testing/tap.sh
. "$TOP/tools/testing/tap.sh"

folder=$BUILD/preempt-probe/host
probe=$folder/preempt-probe

builds()
{
	make -s --no-print-directory -C "$TOP/tools/preempt-probe" O="$folder" CFLAGS="-O2 -Werror -fsanitize=address,undefined" LDFLAGS=-fsanitize=address,undefined
}

# refused TEXT ARGUMENTS: status 2, and the text is said
refused()
{
	local text=$1 status=0

	shift
	"$probe" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	is "status of $*" $status 2
	grep -qF -- "$text" "$scratch/err" || { cat "$scratch/err"; return 1; }
	[ ! -s "$scratch/out" ]
}

bad_arguments()
{
	refused "'0' is no number from 1 to 64" --calls 0
	refused "'65' is no number from 1 to 64" --calls=65
	refused "'1x' is no number" --calls 1x
	refused "'-1' is no number from 0 to 127" --gpu=-1
	refused "there is no 'waves'" --series waves
	refused "'all' is no option" all
}

skips()
{
	local status=0

	[ ! -e /dev/kfd ] || skip "this machine has /dev/kfd"
	"$probe" --json "$scratch/json" >"$scratch/out" 2>"$scratch/err" || status=$?
	is status $status 4
	grep -q '/dev/kfd: No such file' "$scratch/err"
	[ ! -s "$scratch/out" ] && [ ! -e "$scratch/json" ]
}

# assembled CPU FILE: the code and the descriptor that LLVM makes of a wave.s
assembled()
{
	"llvm-mc-$llvm" -triple=amdgcn-amd-amdhsa -mcpu="$1" -filetype=obj -o "$scratch/wave.o" "$2"
	"llvm-objcopy-$llvm" -O binary --only-section=.rodata "$scratch/wave.o" "$scratch/descriptor"
	"llvm-objcopy-$llvm" -O binary --only-section=.text "$scratch/wave.o" "$scratch/code"
}

written()
{
	cat >"$scratch/write.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include "wave.h"
		int main(int argc, char **argv)
		{
			static unsigned char memory[WAVE_CODE_BYTES];
			size_t from = argc > 2 ? 256 : 0;

			wave_write(memory, (unsigned int)atoi(argv[1]));
			fwrite(memory + from, argc > 2 ? wave_code_bytes : 64, 1, stdout);
			return 0;
		}
	END
	gcc -I"$TOP/tools/preempt-probe" -o "$scratch/write" "$scratch/write.c" "$TOP/tools/preempt-probe/wave.c"
}

# code_is FILE: what the probe writes is what the assembler makes of it, on each device that it knows. The descriptor has the place of the code in
# addition.
code_is()
{
	local cpu known=0

	llvm=$("$TOP/dkms/release.sh" llvm)
	command -v "llvm-mc-$llvm" >/dev/null || skip "llvm-mc-$llvm is not installed"
	written
	"$scratch/write" 64 code >"$scratch/code.written"
	"$scratch/write" 64 >"$scratch/descriptor.written"
	for cpu in gfx90a "$("$TOP/dkms/release.sh" llvm-gfx942)" gfx950; do
		"llvm-mc-$llvm" -triple=amdgcn-amd-amdhsa -mcpu=help /dev/null 2>&1 | grep -qw "$cpu" || continue
		assembled "$cpu" "$1"
		cmp "$scratch/code" "$scratch/code.written" || return 1
		# bytes 8 to 11: of the arguments, which the assembler is not told; 16 to 23: of the code's place
		cmp <(tail -c +25 "$scratch/descriptor") <(tail -c +25 "$scratch/descriptor.written") || return 1
		known=$((known + 1))
	done
	[ "$known" -ge 2 ] || { echo "LLVM $llvm knows $known of the devices"; return 1; }
}

change_is_seen()
{
	sed 's/s_sleep 16/s_sleep 17/' "$TOP/tools/preempt-probe/wave.s" >"$scratch/other.s"
	not code_is "$scratch/other.s"
	sed 's/next_free_vgpr 64/next_free_vgpr 72/' "$TOP/tools/preempt-probe/wave.s" >"$scratch/other.s"
	not code_is "$scratch/other.s"
}

plan 5
must "it builds without a warning" builds
tap "values out of bounds are refused, with the bound" bad_arguments
tap "without a device it says so" skips
tap "its machine code is what LLVM makes of wave.s" code_is "$TOP/tools/preempt-probe/wave.s"
tap "another one would be seen" change_is_seen
finish
