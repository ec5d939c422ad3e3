#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh BENCH CODE BENCH_DEVICE KERNELS.co - speed of the shader cores by class of instruction, and what each instruction of a wave
# takes of the CPU's: counted by valgrind, so the same on each machine
set -eu
count=512
command -v valgrind >/dev/null || { echo "bench.sh: no valgrind" >&2; exit 1; }

# what CMD... executes in counted()
collected()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=counted "$@" 2>&1 | awk '$2 == "Collected" { print $4 }'
}

printf '%-18s %14s %s\n' class instructions/s "CPU instructions of each"
"$1" "$2" | while read -r class speed; do
	printf '%-18s %14s %8d\n' "$class" "$speed" $(($(collected "$1" "$2" "$count" "$class") / count))
done
for idle in '' idle; do
	# shellcheck disable=SC2086 # none or one word
	read -r done ns <<<"$("$3" "$4" $idle)"
	# shellcheck disable=SC2086
	printf '%-18s %14s %8d\n' "device${idle:+, $idle}" $((done * 1000000000 / ns)) $(($(collected "$3" "$4" $idle) / done))
done
echo "# device: a product of matrices with the model's events and pauses, on a machine that needs 400 ns for an instruction of a wave"
echo "# idle: nothing else wants the CPU that the model runs on"
