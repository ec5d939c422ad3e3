#!/bin/sh
# SPDX-License-Identifier: MIT
#
# vm.sh - the hardware profile in the VM, with arguments of guest, an empty one, and names of tests that have to pass. TAP on stdout
#
# Environment: TOP, BUILD, VM as check gives them; PROGRAMS: kselftests to take along, or all, and HIP programs then; PROBE=1: preempt-probe, too;
# TIMEOUT in seconds; DIVISOR of steps; VGPU_ARGS: more parameters of vgpu.ko.
# Touches $BUILD/hardware.
set -eu

install=$BUILD/hardware
make -s --no-print-directory -C "$TOP" install-tests BUILD="$BUILD" DESTDIR="$install" PREFIX= >&2
make -s --no-print-directory -C "$TOP/tools/gpreemptctl" O="$BUILD/gpreemptctl" >&2
tests=$install/libexec/kfd_gpreempt-tests
out=$install/out
rm -rf "$out"
add=
if [ "$PROGRAMS" = all ]; then
	PROGRAMS=$(cd "$tests/kfd_gpreempt" && find . -type f ! -name "*.co" -printf "%f ")
	make -s --no-print-directory -C "$TOP/tools/testing/hip" BUILD="$BUILD" "$BUILD/hip/hip_programs" "$BUILD/hip/hip_contend" >&2
	for name in hip_programs hip_contend; do
		add="$add --add $BUILD/hip/$name:/opt/tests/$name"
	done
	add="$add --add $(command -v nice):/bin/nice"
fi
code=$(cd "$tests/kfd_gpreempt" && echo *.co)
for name in hardware kselftest-list.txt $(for p in $PROGRAMS $code; do echo "kfd_gpreempt/$p"; done); do
	add="$add --add $tests/$name:/opt/tests/$name"
done
[ -z "${PROBE:-}" ] || add="$add --add $tests/preempt-probe:/opt/tests/preempt-probe"
arguments=
while [ -n "$1" ]; do
	arguments="$arguments '$1'"
	shift
done
shift
# Steps are short: each instruction is interpreted.
# shellcheck disable=SC2086 # lists of words
"$VM" run --gpu fast --vgpu-args "cus=2 se=2 ${VGPU_ARGS:-}" --icount --timeout "${TIMEOUT:-300}" --out "$out" $add \
	--add "$TOP/tools/testing/hardware/profile_guest.sh:/opt/tests/guest" --add "$BUILD/gpreemptctl/gpreemptctl:/opt/tests/gpreemptctl" -- \
	"KFD_STEP_DIVISOR=${DIVISOR:-20} /opt/tests/guest$arguments" >&2
exec "$TOP/tools/testing/hardware/judge.py" "$out" "$@"
