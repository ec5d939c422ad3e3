#!/bin/sh
# SPDX-License-Identifier: MIT
#
# kunit_guest.sh - in the VM: load the KUnit module, make TAP of what it says in the kernel log

echo "TAP version 13"
insmod /opt/gpreempt/gpreempt_kunit.ko || { echo "Bail out! the module does not load"; exit 1; }
# Each test is a parameter of the only case: eight blanks deep. Without the suite's own line at the end it has died.
dmesg | sed 's/^\[[^]]*\] //' | awk '
	/^        (not )?ok [0-9]+ / { sub(/^ +/, ""); print; n++; next }
	/^ *# Subtest: gpreempt_policy/ { begun = 1 }
	/^(not )?ok 1 gpreempt_policy/ { ended = 1 }
	begun && !ended && /^ *# / { sub(/^ +/, ""); print }
	END { if (ended) print "1.." n; else print "Bail out! the suite has no end" }'
rmmod gpreempt_kunit
