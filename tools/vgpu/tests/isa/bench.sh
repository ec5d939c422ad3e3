#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh BENCH CODE - speed of the shader cores by class of instruction, and what each instruction of a wave takes of the CPU's:
# counted by valgrind, so the same on each machine
set -eu
count=512
printf '%-18s %12s %s\n' class "instructions/s" "CPU instructions of each"
"$1" "$2" | while read -r class speed; do
	total=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=counted "$1" "$2" "$count" "$class" 2>&1 |
		awk '$2 == "Collected" { print $4 }')
	printf '%-18s %12s %8d\n' "$class" "$speed" $((total / count))
done
