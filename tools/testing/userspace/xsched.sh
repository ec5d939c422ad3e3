#!/bin/bash
# SPDX-License-Identifier: MIT
#
# xsched.sh - XSched's queue class against XSched's own source, which XSCHED_SRC names: headers, patch, the patched factory. TAP on stdout
#
# Works in a copy of the source, in a scratch folder. Without XSCHED_SRC everything is skipped: nothing of XSched is part of this tree.
. "$(dirname "$0")/../package/lib.sh"

integration=$TOP/integrations/xsched
copy=$scratch/xsched

need_source()
{
	[ -n "${XSCHED_SRC:-}" ] || skip "XSCHED_SRC, a checkout of XSched 1.2, is not set"
}

class_compiles_against_xscheds_headers()
{
	need_source
	make -s -C "$integration" XSCHED_SRC="$XSCHED_SRC" O="$scratch"
	nm -C "$scratch/hip_queue.o" | grep -q 'T xsched::hip::CreateHipQueue(ihipStream_t\*)'
}

patch_applies_once_and_for_all()
{
	need_source
	mkdir -p "$copy"
	cp -r "$XSCHED_SRC"/{include,utils,preempt,protocol,platforms} "$copy"
	# Where it is applied already, that is what is tested.
	(cd "$copy" && patch -p1 -R -s -f <"$integration/xsched-1.2.patch" >/dev/null) || true
	make -s -C "$integration" XSCHED_SRC="$copy" apply
	grep -q CreateHipQueue "$copy/platforms/hip/hal/src/hip_queue.cpp"
	make -s -C "$integration" XSCHED_SRC="$copy" apply
	is "uses" "$(grep -c CreateHipQueue "$copy/platforms/hip/hal/src/hip_queue.cpp")" 1
}

patched_factory_compiles()
{
	local file include=()

	need_source
	for file in include utils/include preempt/include protocol/include; do
		include+=(-isystem "$copy/$file")
	done
	for file in hip_queue.cpp level3/hip_queue.cpp; do
		g++ -std=c++20 -Wall -Wextra -Werror -Wno-error=range-loop-construct -I"$TOP/lib" -I"$TOP/include/uapi" "${include[@]}" \
			-I"$copy/platforms/hip/hal/include" -c -o "$scratch/factory.o" "$copy/platforms/hip/hal/src/$file"
	done
}

missing_source_is_told()
{
	not make -s -C "$integration" XSCHED_SRC="$scratch/none" O="$scratch" 2>"$scratch/err"
	has "$scratch/err" "has to be a checkout of XSched 1.2"
}

plan 4
tap class_compiles_against_xscheds_headers class_compiles_against_xscheds_headers
tap patch_applies_once_and_for_all patch_applies_once_and_for_all
tap patched_factory_compiles patched_factory_compiles
tap missing_source_is_told missing_source_is_told
finish
