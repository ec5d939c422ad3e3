#!/bin/bash
# SPDX-License-Identifier: MIT
#
# refuse.sh - the build stops with one message, and changes nothing, where it cannot be right
#
# Works on copies in a scratch folder; compiles nothing.
. "$(dirname "$0")/lib.sh"

build=$TOP/dkms/build.sh
series=${KVER%%.*}.$(echo "$KVER" | cut -d. -f2)
foreign=6.1.0-40-amd64
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")
out=$scratch/out
src=$scratch/src

# A dpkg-query that knows what it is told: HEADERS_VERSION, SOURCE_VERSION ("" is not installed), SOURCE_FILE, SOURCE_STATUS
mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<'EOF'
#!/bin/sh
case "$*" in
*-W*linux-headers-*) [ -n "$HEADERS_VERSION" ] && echo "$HEADERS_VERSION" ;;
*-W*linux-source-*) [ -n "$SOURCE_VERSION" ] && echo "${SOURCE_STATUS:-installed} $SOURCE_VERSION" ;;
*-L*linux-source-*) echo "$SOURCE_FILE" ;;
esac
EOF
chmod +x "$scratch/bin/dpkg-query"

with_packages()
{
	HEADERS_VERSION=$1 SOURCE_VERSION=$2 SOURCE_FILE=$3 PATH=$scratch/bin:$PATH "${@:4}"
}

matching()
{
	"$build" --check --kver "$KVER"
}

# named WHAT: a package of this release of Debian
named()
{
	"$TOP/dkms/release.sh" "$1"
}

no_series()
{
	refused "$out" "$build" --kver $foreign --build-dir "$scratch/b"
	has "$out" "no hooks for the 6.1 series"
	has "$out" "$(named kernel-image)"
	has "$out" "$(named kernel-headers)"
	has "$out" "$(named kernel-source)"
}

install_on_foreign()
{
	refused "$out" "$TOP/dkms/install.sh" --kver $foreign --root "$scratch/root"
	has "$out" "apt-get install $(named kernel-image) "
	[ ! -e "$scratch/root" ]
}

install_into_destdir()
{
	local what

	for what in install uninstall; do
		refused "$out" env BUILD="$scratch/b" make -s -C "$TOP" "$what" DESTDIR="$scratch/root" KVER="$KVER"
		has "$out" "cannot be installed into DESTDIR=$scratch/root"
		has "$out" "make deb"
	done
	[ ! -e "$scratch/root" ]
}

# A dkms that is called is noted.
dry_run()
{
	local install=("$TOP/dkms/install.sh" --kver "$KVER" --root "$scratch/root" --dry-run)

	mkdir "$scratch/dkms"
	printf '#!/bin/sh\necho "$*" >>"%s"\n' "$scratch/called" >"$scratch/dkms/dkms"
	chmod +x "$scratch/dkms/dkms"
	PATH=$scratch/dkms:$PATH "${install[@]}" >"$out"
	[ ! -e "$scratch/root" ]
	is "commands of DKMS" "$(sed -n 's/^kfd_gpreempt: would run: dkms \([a-z]* [^ ]*\) .*/\1/p' "$out" | tr '\n' ' ')" \
		"add kfd_gpreempt/$version build kfd_gpreempt/$version install kfd_gpreempt/$version "
	has "$out" "/usr/src/kfd_gpreempt-$version/"
	# ... and the reverse of an installation that there is
	mkdir -p "$scratch/root/var/lib/dkms/kfd_gpreempt/$version" "$scratch/root/usr/src/kfd_gpreempt-$version"
	ln -s nowhere "$scratch/root/var/lib/dkms/kfd_gpreempt/$version/source"
	find "$scratch/root" >"$scratch/before"
	PATH=$scratch/dkms:$PATH "${install[@]}" --remove >"$out"
	has "$out" "would run: dkms remove kfd_gpreempt/$version --all"
	find "$scratch/root" | diff "$scratch/before" -
	[ ! -e "$scratch/called" ] || { cat "$scratch/called"; return 1; }
	rm -r "$scratch/root"
	# The front door has it.
	BUILD=$scratch/b make -s -C "$TOP" install KVER="$KVER" DRIVER=kernel DRY_RUN=1 >"$out" || true
	has "$out" "kfd_gpreempt: dry run: nothing is changed"
}

# What make install-tools calls: programs that note how they are called stand for the system's
reload()
{
	local name

	unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
	mkdir "$scratch/system"
	for name in ldconfig udevadm systemctl; do
		printf '#!/bin/sh\necho "%s $*" >>"%s"\n' "$name" "$scratch/reloaded" >"$scratch/system/$name"
		chmod +x "$scratch/system/$name"
	done
	cat >"$scratch/install" <<-'END'
		set -e
		mount -t tmpfs fake /run
		mkdir -p $RUNS
		make -s -C "$TOP" "$@"
	END
	export RUNS TOP BUILD
	RUNS="/run/udev/control /run/systemd/system" PATH=$scratch/system:$PATH SYSCONFDIR=$scratch/home/etc \
		unshare --mount sh "$scratch/install" install-tools PREFIX="$scratch/home" >"$out"
	is "with systemd" "$(cat "$scratch/reloaded")" "ldconfig 
udevadm control --reload
udevadm trigger --action=change --sysname-match=kfd_gpreempt
systemctl daemon-reload"
	rm "$scratch/reloaded"
	RUNS=/run/empty PATH=$scratch/system:$PATH unshare --mount sh "$scratch/install" uninstall-tools PREFIX="$scratch/home" >"$out"
	is "without" "$(cat "$scratch/reloaded")" "ldconfig "
	rm "$scratch/reloaded"
	# What is staged is another system's.
	RUNS=/run/empty PATH=$scratch/system:$PATH unshare --mount sh "$scratch/install" install-tools DESTDIR="$scratch/stage" >"$out"
	[ ! -e "$scratch/reloaded" ]
	setpriv --reuid=65534 --regid=65534 --clear-groups "$TOP/dist/reload" >"$out"
	has "$out" "as root: ldconfig; udevadm control --reload; udevadm trigger"
}

# The help has 100 columns, and each target that is no part of another.
help_fits()
{
	make -s -C "$TOP" BUILD="$scratch/b" >"$out"
	is "lines of more than 100 columns" "$(awk 'length > 100' "$out")" ""
	sed -n 's/^\.PHONY: //p' "$TOP/Makefile" "$TOP/dkms/dkms.mk" | tr ' ' '\n' | grep -vx 'help\|tools-built' | while read -r target; do
		grep -qE "^ .*[ ,]$target( |\$|,)" "$out" || echo "$target"
	done >"$scratch/unsaid"
	is "targets that the help does not name" "$(cat "$scratch/unsaid")" ""
}

# vm shell, but for the machine: a vm.py that says what it is called with
greeting()
{
	mkdir -p "$scratch/top/tools/testing/vm" "$scratch/top/tools/vgpu"
	cp "$TOP/tools/testing/vm/vm" "$scratch/top/tools/testing/vm/"
	printf '#!/bin/sh\necho "$@"\n' >"$scratch/top/tools/vgpu/vm.py"
	chmod +x "$scratch/top/tools/vgpu/vm.py"
	BUILD=$scratch/b "$scratch/top/tools/testing/vm/vm" shell --gpu mi210 >"$out"
	has "$out" "shell --append quiet --add $scratch/b/vm/profile:/etc/profile"
	is "words" "$(busybox sh "$scratch/b/vm/profile" | wc -l)" 2
	# In a terminal of 132 columns
	script -qec "stty rows 40 cols 132; BUILD=$scratch/b $scratch/top/tools/testing/vm/vm shell" /dev/null >/dev/null </dev/null
	grep -qx 'stty rows 40 cols 132' "$scratch/b/vm/profile"
}

series_removed()
{
	package_copy "$scratch/no-series"
	sed -i '/^supports /d' "$scratch/no-series/dkms/hooks.list"
	refused "$out" "$scratch/no-series/dkms/build.sh" --kver "$KVER" --build-dir "$scratch/b"
	has "$out" "no hooks for the $series series"
}

no_headers()
{
	refused "$out" "$build" --kver "$series.0-nobody" --build-dir "$scratch/b"
	has "$out" "apt-get install linux-headers-$series.0-nobody"
}

no_amdgpu()
{
	mkdir -p "$scratch/headers/include/config"
	echo 'CONFIG_HSA_AMD=y' >"$scratch/headers/include/config/auto.conf"
	refused "$out" "$build" --kver "$KVER" --headers "$scratch/headers" --build-dir "$scratch/b"
	has "$out" "CONFIG_DRM_AMDGPU=m"
}

no_source()
{
	refused "$out" with_packages 6.12.9-1 "" "" "$build" --kver "$KVER" --build-dir "$scratch/b"
	has "$out" "apt-get install linux-source-$series=6.12.9-1"
}

# In the middle of an upgrade the source is there but not configured; a removed package has a version, too.
source_status()
{
	touch "$scratch/linux-source-6.tar.xz"
	SOURCE_STATUS=unpacked with_packages 6.12.9-1 6.12.9-1 "$scratch/linux-source-6.tar.xz" \
		"$build" --check --kver "$KVER"
	export SOURCE_STATUS=config-files
	refused "$out" with_packages 6.12.9-1 6.12.9-1 "$scratch/linux-source-6.tar.xz" "$build" --check --kver "$KVER"
	has "$out" "is not installed"
}

other_package()
{
	refused "$out" with_packages 6.12.9-1 6.12.8-2 "" "$build" --kver "$KVER" --build-dir "$scratch/b"
	has "$out" "6.12.9-1"
	has "$out" "6.12.8-2"
	has "$out" "apt-get install linux-source-$series=6.12.9-1"
}

tarball_gone()
{
	refused "$out" with_packages 6.12.9-1 6.12.9-1 "$scratch/linux-source-6.12.tar.xz" "$build" --kver "$KVER" --build-dir "$scratch/b"
	has "$out" "apt-get install --reinstall linux-source-$series=6.12.9-1"
}

tarball_broken()
{
	head -c 4096 /dev/urandom >"$scratch/linux-source-6.12.tar.xz"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/linux-source-6.12.tar.xz" --build-dir "$scratch/b"
	has "$out" "cannot unpack"
}

unknown_kernel()
{
	refused "$out" with_packages "" 6.12.8-2 "" "$build" --kver "$KVER" --build-dir "$scratch/b"
	has "$out" "--src"
}

no_tree()
{
	mkdir "$scratch/empty"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/empty" --build-dir "$scratch/b"
	has "$out" "is no kernel source"
}

other_sublevel()
{
	cp -r "$src" "$scratch/other"
	sed -i 's/^SUBLEVEL = .*/SUBLEVEL = 9999/' "$scratch/other/Makefile"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/other" --build-dir "$scratch/b"
	has "$out" "$series.9999"
}

fits()
{
	"$build" --kver "$KVER" --src "$src" --build-dir "$scratch/good" --prepare
	grep -q kfd_gpreempt_init "$scratch/good/$AMD/amdkfd/kfd_module.c"
}

# A line that a hook leans on is gone.
hook_without_place()
{
	cp -r "$src" "$scratch/mutant1"
	sed -i '/^\tkfd_smi_init(node);$/d' "$scratch/mutant1/$AMD/amdkfd/kfd_device.c"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/mutant1" --build-dir "$scratch/b1" --prepare
	has "$out" 'hook node-init: kfd_device.c: kfd_init_node(): "after kfd_smi_init(node);" is gone'
	has "$out" "$KVER"
	# Neither half patched sources nor ours.
	is "files with hooks" "$(grep -rls gpreempt "$scratch/b1/$AMD/amdkfd")" ""
}

# The code is there, but in a function of another name.
hook_elsewhere()
{
	cp -r "$src" "$scratch/mutant2"
	sed -i 's/kfd_cleanup_nodes(/kfd_drop_nodes(/' "$scratch/mutant2/$AMD/amdkfd/kfd_device.c"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/mutant2" --build-dir "$scratch/b2" --prepare
	has "$out" 'hook node-fini: kfd_device.c: kfd_cleanup_nodes() is gone'
}

# Inside a conditional block a hook would vanish without that option. More than one hook is in that file: the message has one line.
hook_in_conditional()
{
	cp -r "$src" "$scratch/mutant3"
	sed -i '1i #ifdef CONFIG_HSA_AMD' "$scratch/mutant3/$AMD/amdkfd/kfd_device_queue_manager.c"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/mutant3" --build-dir "$scratch/b3" --prepare
	has "$out" 'hook fence-wait: kfd_device_queue_manager.c: amdkfd_fence_wait_timeout() is in "#ifdef CONFIG_HSA_AMD"'
	has "$out" "(and 4 more: "
}

hook_twice()
{
	package_copy "$scratch/twice"
	sed -n '/^hook	exit$/,/^proof/p' "$TOP/dkms/hooks.list" >>"$scratch/twice/dkms/hooks.list"
	refused "$out" "$scratch/twice/dkms/build.sh" --kver "$KVER" --src "$src" --build-dir "$scratch/b4" --prepare
	has "$out" "hook exit is there twice for series $series"
}

# Whether it was compiled would not be looked at.
hook_without_proof()
{
	package_copy "$scratch/unproved"
	sed -i '/^proof	calls kfd_gpreempt_pause$/d' "$scratch/unproved/dkms/hooks.list"
	refused "$out" "$scratch/unproved/dkms/build.sh" --kver "$KVER" --src "$src" --build-dir "$scratch/b5" --prepare
	has "$out" 'hook suspend lacks file, in, why, locks, proof'
}

patched_already()
{
	cp -r "$scratch/good/$AMD/amdkfd" "$scratch/patched"
	mkdir -p "$scratch/src6/$AMD"
	cp "$src/Makefile" "$scratch/src6/"
	mv "$scratch/patched" "$scratch/src6/$AMD/amdkfd"
	refused "$out" "$build" --kver "$KVER" --src "$scratch/src6" --build-dir "$scratch/b6" --prepare
	has "$out" "already"
}

blank_in_path()
{
	refused "$out" "$build" --kver "$KVER" --src "$src" --build-dir "$scratch/a b" --prepare
	has "$out" "blank"
}

# Traps of DKMS 3.0: PATCH comes before the source is unpacked, and a PRE_BUILD that fails is ignored.
one_script()
{
	is "traps" "$(grep -E '^(PATCH|PRE_BUILD|POST_(ADD|BUILD|REMOVE)|REMAKE_INITRD|BUILD_EXCLUSIVE_KERNEL_MIN)' "$TOP/dkms.conf")" ""
	grep -q '^MAKE\[0\]="dkms/build.sh ' "$TOP/dkms.conf"
	is "versions written down" "$(grep -rE '[0-9]+\.[0-9]+\.[0-9]+' "$TOP/dkms.conf" | grep -vc '^PACKAGE_VERSION=')" 0
}

# conf VARIABLE: its value in dkms.conf, as DKMS reads it
conf()
{
	kernelver=$KVER bash -c '. "$0"; eval "echo \"\$$1\""' "$TOP/dkms.conf" "$1"
}

autoinstall_value()
{
	is "with the source" "$(conf AUTOINSTALL)" yes
	is "without the source" "$(with_packages 6.12.9-1 "" "" conf AUTOINSTALL)" ""
	is "with another source" "$(with_packages 6.12.9-1 6.12.8-2 "" conf AUTOINSTALL)" ""
	is "on another series" "$(KVER=$foreign conf AUTOINSTALL)" ""
}

# throw_away_dkms FOLDER [COMMAND...]: DKMS there has the package, as far as the command, called with its folder, leaves it
throw_away_dkms()
{
	command -v dkms >/dev/null || skip "dkms is not installed"
	mkdir -p "$1/var/lib/dkms" "$1/usr/src" "$1/lib/modules/$KVER"
	# DKMS 3.2 looks for headers there.
	ln -s "/lib/modules/$KVER/build" "$1/lib/modules/$KVER/build"
	dkms_args=(--dkmstree "$1/var/lib/dkms" --sourcetree "$1/usr/src" --installtree "$1/lib/modules" --no-depmod)
	export mok_signing_key=$1/key mok_certificate=$1/certificate
	package_copy "$1/usr/src/kfd_gpreempt-$version"
	[ $# = 1 ] || (cd "$1/usr/src/kfd_gpreempt-$version" && "${@:2}")
	dkms add "kfd_gpreempt/$version" "${dkms_args[@]}"
}

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$TOP/dkms.conf")

# "dkms autoinstall" runs when a kernel is upgraded: it must succeed, and say why there is no module.
autoinstall()
{
	throw_away_dkms "$scratch/auto"
	with_packages 6.12.9-1 "" "" dkms autoinstall -k "$KVER" "${dkms_args[@]}" >"$out" 2>&1
	has "$out" "apt-get install linux-source-$series=6.12.9-1"
	[ ! -e "$scratch/auto/lib/modules/$KVER/updates" ]
	is "kernels in the tree" "$(find "$scratch/auto/var/lib/dkms" -name '*.ko*')" ""
}

# With it, the build is tried: also before anything was ever built, when DKMS asks for no kernel in particular.
autoinstall_with_source()
{
	throw_away_dkms "$scratch/try" sed -i 's/^MAKE.*/MAKE[0]="touch tried; false"/' dkms.conf
	dkms autoinstall -k "$KVER" "${dkms_args[@]}" || true
	[ -e "$scratch/try/var/lib/dkms/kfd_gpreempt/$version/build/tried" ]
}

# A build that fails inside DKMS installs nothing and reports no module.
dkms_failure()
{
	throw_away_dkms "$scratch/fail" sed -i '/^supports /d' dkms/hooks.list
	! dkms install "kfd_gpreempt/$version" -k "$KVER" "${dkms_args[@]}" || { echo "it did not fail"; return 1; }
	has "$scratch/fail/var/lib/dkms/kfd_gpreempt/$version/build/make.log" "no hooks for the $series series"
	dkms status "${dkms_args[@]}" >"$out"
	has "$out" "added"
	is "built or installed" "$(grep -E 'built|installed' "$out")" ""
	is "files installed" "$(find "$scratch/fail/lib" -name '*.ko*')" ""
}

plan 32
tap "headers and source of $KVER are accepted" matching
tap "a series without hooks is refused, with the packages that bring one that has" no_series
tap "install on such a kernel says the same and touches nothing" install_on_foreign
tap "install into DESTDIR is refused, and says what takes it" install_into_destdir
tap "a dry run says what would be done, and does nothing" dry_run
tap "install-tools has the running system notice, and what is staged is left alone" reload
tap "the help fits in 100 columns, and names every target" help_fits
tap "vm shell greets with two lines, on a screen of the right size" greeting
tap "a missing series folder is refused" series_removed
tap "missing headers are refused" no_headers
tap "a kernel without amdgpu is refused" no_amdgpu
tap "a missing source package is refused" no_source
tap "a source package that is just unpacked is accepted, a removed one is not" source_status
tap "a source package of another version is refused, with both versions" other_package
tap "a missing tarball is refused" tarball_gone
tap "a broken tarball is refused" tarball_broken
tap "headers that are no package are refused without --src" unknown_kernel
tap "a folder that is no kernel source is refused" no_tree
stock_source "$src" || echo "# no stock source"
tap "a source of another SUBLEVEL is refused" other_sublevel
tap "the stock source takes all hooks" fits
tap "a hook that does not match is named, and nothing is half patched" hook_without_place
tap "a hook in another function is named" hook_elsewhere
tap "a hook inside a conditional block is named" hook_in_conditional
tap "a hook that is there twice is named" hook_twice
tap "a hook without a proof is named" hook_without_proof
tap "a source that has hooks already is refused" patched_already
tap "a build folder that make cannot work in is refused" blank_in_path
tap "DKMS runs one script, without PATCH and PRE_BUILD" one_script
tap "AUTOINSTALL is empty unless the matching source is there" autoinstall_value
tap "dkms autoinstall without source succeeds, says why, builds nothing" autoinstall
tap "dkms autoinstall with source builds" autoinstall_with_source
tap "a build that fails in DKMS installs nothing" dkms_failure
finish
