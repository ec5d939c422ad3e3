# SPDX-License-Identifier: MIT
#
# missing.awk - symbols of the scheduler that objects use and none defines: nm of all of them on stdin
#
# -v besides=REGEX: names that another file has

$2 ~ /^[A-Za-z]$/ && NF == 3 { defined[$3] }
$1 == "U" && $2 ~ /^(__)?(kfd_)?gpreempt_/ { used[$2] }
END {
	for (name in used)
		if (!(name in defined) && (besides == "" || name !~ besides))
			print name " is missing"
}
