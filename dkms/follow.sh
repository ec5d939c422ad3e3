# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# follow.sh - how far a build of DKMS is; sourced

# follow LOG: of a build's log that may come only later, to standard error, what it says of how far it is (progress.sh), until this script ends. DKMS
# keeps the rest for its log. A line of it appears now and then below what DKMS itself says.
follow()
{
	tail --pid=$$ -n +1 -F "$1" 2>/dev/null | sed -un 's/^\.\.\. /\n&/p' >&2
}
