#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vm.py - boot a stock Debian kernel in QEMU, run one command in it, give back its result

Builds an initramfs from busybox, the guest/ folder beside this file, the modules of the stock kernel that amdgpu needs, and
what the caller adds; boots it without KVM; passes on the command's output and exit status and fetches the files in /out.

Touches: $BUILD/vm (initramfs parts, run folders), $VGPU_CACHE/{kernel,vm} (extracted kernel packages, saved guests), the folder given by
--out. It needs no root, installs nothing, and any number of VMs may run at once.
"""
import argparse
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import io
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../.."))
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(TOP, "build"))
CACHE = os.path.abspath(os.environ.get("VGPU_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vgpu"))
PROGRESS = os.path.join(TOP, "dkms/progress.sh")
# Where the guest has programs that come along
PROGRAMS = os.environ.get("VM_PROGRAMS") or "/opt/programs"

EXIT_USAGE = 2          # wrong arguments or a missing file
EXIT_LOG = 99           # the kernel complained, or the guest died before it had a result
EXIT_TIMEOUT = 124      # as timeout(1)

DISK_BYTES = 1 << 30    # of a waiting guest's job
MAX_SOCKET_PATH = 107   # of a Unix socket
SMALL_BYTES = 64 << 10  # a file of $BUILD/guest that always goes along

# Devices as large as a product: presets of vgpu.ko
PRODUCTS = ("mi210", "mi250", "mi300x", "mi325x", "mi308x")

# What a person wants to find in a shell, as far as it is installed or built, and what a screen is told of the guest's $TERM, from where
# ncurses has it
COMFORT = ("rocminfo", "nice", "bpftrace")
COMFORT_FILES = {f"{BUILD}/hip/hip_programs": f"{PROGRAMS}/hip_programs",
                 **{f"{folder}/terminfo/l/linux": f"{folder}/terminfo/l/linux" for folder in ("/lib", "/usr/share")}}

# What no healthy run prints. Only the kernel writes to the console; the command's output travels elsewhere.
COMPLAINTS = re.compile(
    r"WARNING: |\bBUG\b|Oops|Kernel panic|soft lockup|hard LOCKUP|Call Trace|general protection fault|"
    r"blocked for more than|detected stalls?|self-detected stall|refcount_t: |Unknown symbol|disagrees about version|"
    r"INFO: trying to register non-static key")
# So long at most is what belongs to a complaint, if no trace ends it.
REPORT_LINES = 200

# A kernel that looks for mistakes (is_debug()) takes its time, and goes on after the first.
DEBUG_SLOWDOWN = 6
# Without the ACPI timer the kernel compares the APIC's timer with jiffies, of which QEMU's HPET loses some: it would do without that timer.
DEBUG_CMDLINE = " kasan_multi_shot hpet=disable"
# For data races the driver needs two CPUs beside that of the command processor, and tasks that can be preempted anywhere.
KCSAN_CMDLINE = " preempt=full kcsan.early_enable=1"
# What the virtual GPU's look at its doorbells costs there is as much as the time between two of them.
DEBUG_VGPU_ARGS = "poll_ns=300000"

# Before the command, if wanted: what the kernel has counted goes to /out when it ends. The size of these files is 0 until they are read.
COUNTED = """\
trap 'cd /sys/kernel/debug/gcov && find . -name "*.gcda" | while read -r f; do mkdir -p "/out/gcov/${f%/*}"; cat "$f" >"/out/gcov/$f"; done' EXIT
"""

# New threads of the kernel begin where kthreadd is, and isolcpus= keeps them there: on a slow kernel a thread of the driver would share
# the CPU of the virtual GPU's command processor with it, which no GPU does.
OFF_CPU_0 = "taskset -p fffe 2 >/dev/null\n"

# Always there: the reserved ranges are the virtual GPU's BARs. CPU 0 belongs to its command processor: after a timer QEMU's -icount
# loop always begins with CPU 0, so a driver that spins on CPU 1 cannot starve it. Tests read the kernel's log: none of it is
# overwritten by the suites of one guest.
CMDLINE = ("console=ttyS0 nokaslr mitigations=off tsc=reliable no_timer_check cryptomgr.notests oops=panic panic=-1 "
           "memmap=1G$0x100000000 memmap={low_mb}M$0xa0000000 isolcpus=0 log_buf_len=1M rdinit=/init")
MAX_GPUS = 8
LOW_MB = 8              # of the second range, for a virtual GPU
LEAST_LOW_MB = 16       # one and two of them boot the same guest
MAX_NUMA = 2
NUMA_NODE_MB = 256

HELP = """\
vm.py run boots a stock Debian kernel under QEMU (software emulation, two CPUs), runs CMD in it through sh, prints what CMD prints and
exits with CMD's status.

  vm.py run -- uname -r                                  a kernel, no GPU, 1 s
  vm.py run -- 'cat /proc/cpuinfo | grep -c model'       one word is a shell script; several are an exact argument list
  vm.py run --gpu verbatim -- rocminfo                   virtual GPU under the kernel package's own amdgpu.ko
  vm.py run --gpu verbatim --amdgpu KO -- ...            under another one, as it is
  vm.py run --gpu fast --amdgpu KO -- ...                under a build of amdgpu with intercept.h: registers are function calls
  vm.py run --gpu fast --vgpu-args 'fault=stale_mqd' --amdgpu-args 'sched_policy=2' -- ...
  vm.py run --gpu fast --gpus 2 -- ...                   two virtual GPUs; VM_GPUS=2 says the same, unless --vgpu-args has gpus=
  vm.py run --gpu fast --gpus 2 --numa 2 --vgpu-args numa=0,1 -- ...
                                                         two NUMA nodes of two CPUs each, and a GPU at each
  VM_GPU=gfx942x2 vm.py run --gpu fast -- ...            another device than --gpu says: gfx90a, gfx942[xXCCS], gfx1100, a product, verbatim,
                                                         or several of them with commas; nothing changes without --gpu
  vm.py run --add ./prog --add ./data:/etc/data -- prog  extra files (a program brings the libraries it is linked with)
  vm.py run --net a:b -- ... & vm.py run --net b:a       two machines with a cable between them (eth0, without an address); while
                                                         one has nothing to do its time is the host's, also with --icount
  vm.py run --disk IMAGE:/mnt -- 'enter /mnt ls'         a file system (ext4) that is read from a disk: memory holds what is used of it
  vm.py run --out DIR -- 'dmesg > /out/dmesg'            files of /out come back to DIR, the kernel log is DIR/console.log
  vm.py run --icount -- ...                              guest time is counted instructions: figures repeat, one CPU at a time
  vm.py shell --gpu mi210                                look around on a machine with a virtual MI210 (or another product): rocminfo,
                                                         bpftrace, HIP programs (leave with: exit; QEMU's keys: Ctrl-a h)
  vm.py shell --gpu mi210 --out DIR                      what is in /out when one leaves comes to DIR
  vm.py kver                                             the kernel version that would boot
  vm.py fetch                                            unpack that kernel's package now, not at the first run
  VM_COLLECT=FILE VM_NAME=NAME vm.py run --gpu ...       is noted in FILE, and not done
  vm.py batch FILE OUT                                   does what FILE holds, in one guest: all of it has to print TAP; OUT as --out
  vm.py run --gdb 1234 -- ...                            halts at the first instruction until gdb has said: target remote :1234

exit status: that of CMD; 99 the kernel log holds a WARN, BUG, Oops, lockup or trace (said on stderr), or the guest died;
124 timeout; 2 usage.

in the guest: busybox, PATH with $VM_PROGRAMS (of $BUILD/guest what CMD or an added file names), proc sysfs debugfs tracefs mounted, /out.
enter FOLDER COMMAND... runs COMMAND in a system of its own below FOLDER, as of a disk, with this guest's devices, /tmp and /out.
gpu-up none|fast|verbatim [--vgpu-args S] [--amdgpu-args S] loads the stock dependencies of amdgpu, then vgpu.ko, then what lies beside
amdgpu.ko on the host and is asked for by it (AMD's driver package has such), then amdgpu.ko, and waits for the KFD node;
`--gpu fast|verbatim` calls it before CMD, otherwise CMD may. `gpu-up none` loads amdgpu without a
device. gpu-down unloads all of these. Modules: /gpu/amdgpu.ko, /gpu/package/*.ko, /gpu/vgpu.ko. Firmware comes from $BUILD/firmware.

environment: KVER kernel version; AMDGPU_TEST_KO, AMDGPU_RELEASE_KO defaults of --amdgpu for fast and verbatim ({kver} stands for the
kernel version); VGPU_KO; VM_VGPU_ARGS parameters of vgpu.ko in every load; BUILD; VGPU_CACHE; VM_PROGRAMS folder for programs in the
guest; VM_ALLOWED file of what a debug kernel may report; GCDA a folder for what a kernel with GCOV_KERNEL counts; VM_BOOT=1 boots,
where a run goes on from a saved guest (see may_wait()).
"""


class Failure(Exception):
    """Something to tell the caller in one line."""


def log(text):
    print(f"vm: {text}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------------------------- kernel

def discover_kver():
    """The newest 6.12 kernel whose headers are installed; versions are never written down."""
    if os.environ.get("KVER"):
        return os.environ["KVER"]
    out = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", "linux-headers-6.12.*"],
                         capture_output=True, text=True).stdout
    # Not those of other flavours, as cloud-amd64 and rt-amd64
    found = re.findall(r"^installed linux-headers-(6\.12\.[^-\s]+-amd64)$", out, re.M)
    if not found:
        raise Failure("no headers of a 6.12 kernel are installed (linux-headers-6.12.N...-amd64), and no --kver given")
    return max(found, key=lambda kver: [int(number) for number in re.findall(r"\d+", kver)])


@contextlib.contextmanager
def locked(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kernel_dir(kver):
    """Folder with boot/ and lib/modules/ of the stock kernel, unpacked from its package once per machine."""
    final = os.path.join(CACHE, "kernel", kver)
    if os.path.exists(f"{final}/vmlinux"):
        return final
    with locked(os.path.join(CACHE, "kernel", f".{kver}.lock")):
        if os.path.exists(f"{final}/vmlinux"):
            return final
        log(f"fetching linux-image-{kver} (once)")
        work = tempfile.mkdtemp(prefix=f".{kver}.", dir=os.path.join(CACHE, "kernel"))
        try:
            unpack(work, [f"linux-image-{kver}"])
            if not glob.glob(f"{work}/boot/vmlinuz-*"):
                # since 7.x that package only ties others together
                unpack(work, [f"linux-{part}-{kver}" for part in ("base", "binary", "modules")])
            if not os.path.exists(f"{work}/lib"):
                os.rename(f"{work}/usr/lib", f"{work}/lib")     # where newer packages have it
            subprocess.run(["depmod", "-b", work, kver], check=True)
            unpack_vmlinux(glob.glob(f"{work}/boot/vmlinuz-*") + glob.glob(f"{work}/lib/modules/*/vmlinuz"), f"{work}/vmlinux")
            shutil.rmtree(final, ignore_errors=True)
            os.chmod(work, 0o755)
            os.rename(work, final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return final


def unpack(folder, packages):
    """Unpacks packages of the archive that apt knows into FOLDER."""
    got = download(folder, packages)
    if got.returncode and os.geteuid() == 0:
        # the archive's lists may be older than the archive
        subprocess.run(["apt-get", "-o", "DPkg::Lock::Timeout=300", "-q", "update"], capture_output=True)
        got = download(folder, packages)
    debs = glob.glob(f"{folder}/*.deb")
    if got.returncode or len(debs) != len(packages):
        raise Failure(f"apt-get download {' '.join(packages)} failed: {got.stdout.strip()[-300:]}")
    for deb in debs:
        subprocess.run(["dpkg", "-x", deb, "."], cwd=folder, check=True)
        os.unlink(deb)


def download(folder, packages):
    """By apt-get, which tells how far it is."""
    with subprocess.Popen([PROGRESS], stdin=subprocess.PIPE) as progress:
        told = progress.stdin.fileno()
        return subprocess.run(["apt-get", "-q", "-o", f"APT::Status-Fd={told}", "download", *packages], cwd=folder,
                              pass_fds=[told], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def unpack_vmlinux(bzimages, target):
    """QEMU can start the uncompressed kernel (PVH entry); decompressing it under emulation would cost two seconds a boot."""
    if len(bzimages) != 1:
        raise Failure(f"the packages hold {len(bzimages)} kernels")
    with open(bzimages[0], "rb") as f:
        image = f.read()
    for magic, tool in ((b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]), (b"\xfd7zXZ\0", ["xz", "-dcq", "--single-stream"]),
                        (b"\x1f\x8b\x08", ["gzip", "-dcq"])):
        at = image.find(magic)
        while at >= 0:
            data = subprocess.run(tool, input=image[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            if data.startswith(b"\x7fELF"):
                with open(target, "wb") as f:
                    f.write(data)
                return
            at = image.find(magic, at + 1)
    raise Failure(f"no kernel found inside {bzimages[0]}")


def depends_of(ko):
    """Names of the modules that KO asks for."""
    out = subprocess.run(["modinfo", "-F", "depends", ko], capture_output=True, text=True)
    if out.returncode:
        raise Failure(f"{ko}: {out.stderr.strip()}")
    return [n.replace("-", "_") for n in out.stdout.strip().split(",") if n]


def package_of(ko):
    """
    Modules beside KO that it depends on, in loading order. AMD's driver package has its own of some that the kernel has too, under
    other names.
    """
    beside = {ModuleTree.name(path): path for path in glob.glob(os.path.join(glob.escape(os.path.dirname(ko)), "*.ko*"))}
    order = []

    def visit(name):
        for needed in depends_of(beside[name]):
            if needed in beside:
                visit(needed)
        if beside[name] not in order:
            order.append(beside[name])
    for name in depends_of(ko):
        if name in beside:
            visit(name)
    return order


class ModuleTree:
    """modules.dep of the stock kernel: name -> file and the files that must be loaded before it."""

    def __init__(self, kver):
        self.root = os.path.join(kernel_dir(kver), "lib/modules", kver)
        self.files, self.needs = {}, {}
        with open(f"{self.root}/modules.dep") as f:
            for line in f:
                path, _, rest = line.partition(":")
                self.files[self.name(path)] = path
                self.needs[path] = rest.split()
        with open(f"{self.root}/modules.builtin") as f:
            self.builtin = {self.name(line.strip()) for line in f}

    @staticmethod
    def name(path):
        return os.path.basename(path).split(".ko")[0].replace("-", "_")

    def closure(self, names):
        """Files in loading order for the modules NAMES."""
        order = []
        for name in names:
            if name in self.builtin:
                continue
            if name not in self.files:
                raise Failure(f"module {name} is not in {self.root}")
            path = self.files[name]
            # modules.dep lists the furthest dependency last
            for p in reversed([path] + self.needs[path]):
                if p not in order:
                    order.append(p)
        return order

    def read(self, path):
        full = os.path.join(self.root, path)
        tool = {"xz": "xz", "zst": "zstd", "gz": "gzip"}.get(path.rsplit(".", 1)[1])
        if not tool:
            with open(full, "rb") as f:
                return f.read()
        return subprocess.run([tool, "-dcq", full], stdout=subprocess.PIPE, check=True).stdout


# ------------------------------------------------------------------------------------------------------------- initramfs

class Cpio:
    """newc archive, reproducible: no times, no owners."""

    def __init__(self):
        self.out, self.ino, self.dirs = io.BytesIO(), 0, set()

    def entry(self, path, mode, data=b"", rdev=(0, 0)):
        name = path.strip("/").encode() + b"\0"
        self.ino += 1
        fields = (self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1], len(name), 0)
        self.out.write(b"070701" + b"".join(b"%08X" % f for f in fields) + name)
        self.pad()
        self.out.write(data)
        self.pad()

    def pad(self):
        self.out.write(b"\0" * (-self.out.tell() % 4))

    def mkdir(self, path):
        path = path.strip("/")
        if path and path not in self.dirs:
            self.mkdir(os.path.dirname(path))
            self.dirs.add(path)
            self.entry(path, stat.S_IFDIR | 0o755)

    def file(self, path, data, mode=0o644):
        self.mkdir(os.path.dirname(path))
        self.entry(path, stat.S_IFREG | mode, data)

    def link(self, path, target):
        self.mkdir(os.path.dirname(path))
        self.entry(path, stat.S_IFLNK | 0o777, target.encode())

    def add(self, host, guest):
        """A file or folder of the host, links kept; a dynamic program brings its libraries."""
        if os.path.isdir(host):
            self.mkdir(guest)
            for name in sorted(os.listdir(host)):
                full = os.path.join(host, name)
                if os.path.islink(full):
                    self.link(f"{guest}/{name}", os.readlink(full))
                else:
                    self.add(full, f"{guest}/{name}")
            return
        with open(host, "rb") as f:
            data = f.read()
        mode = os.stat(host).st_mode & 0o777
        if data.startswith(b"\x7fELF") and mode & 0o111 and b"/ld-linux" in data:
            self.add_libraries(host)
        self.file(guest, data, mode)

    def add_libraries(self, program):
        out = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        for line in out.splitlines():
            found = re.search(r"(?:=> )?(/\S+) \(0x", line)
            if found and found.group(1) not in self.dirs:
                self.dirs.add(found.group(1))
                with open(found.group(1), "rb") as f:
                    self.file(found.group(1), f.read(), 0o755)

    def bytes(self):
        self.entry("TRAILER!!!", 0)
        self.out.write(b"\0" * (-self.out.tell() % 512))
        return self.out.getvalue()


def base_initramfs(kver, deps):
    """Archive with busybox, guest scripts and the stock modules amdgpu needs; cached under the hash of all that goes in."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise Failure("busybox is missing")
    tree = ModuleTree(kver)
    modules = tree.closure(deps)
    guest = os.path.join(HERE, "guest")
    settings = {"etc/programs": f"{PROGRAMS}\n", "etc/vgpu-args": os.environ.get("VM_VGPU_ARGS", "") + "\n"}
    key = hashlib.sha256(repr((kver, modules, settings)).encode())
    for path in [busybox, os.path.realpath(__file__)] + [f"{guest}/{n}" for n in sorted(os.listdir(guest))]:
        with open(path, "rb") as f:
            key.update(path.encode() + f.read())
    cached = os.path.join(BUILD, "vm", f"base-{key.hexdigest()[:16]}.cpio")
    with contextlib.suppress(FileNotFoundError):
        os.utime(cached)
        return cached

    cpio = Cpio()
    for d in ("proc", "sys", "dev", "tmp", "root", "out", "run", "etc", "gpu", "lib/firmware/amdgpu", PROGRAMS):
        cpio.mkdir(d)
    cpio.entry("dev/console", stat.S_IFCHR | 0o600, rdev=(5, 1))
    cpio.entry("dev/null", stat.S_IFCHR | 0o666, rdev=(1, 3))
    cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
    cpio.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    for path, text in settings.items():
        cpio.file(path, text.encode())
    with open(busybox, "rb") as f:
        cpio.file("bin/busybox", f.read(), 0o755)
    applets = subprocess.run([busybox, "--list-full"], capture_output=True, text=True, check=True).stdout.split()
    scripts = {"init"} | {f"bin/{n}" for n in os.listdir(guest)}
    for applet in applets:
        if applet != "bin/busybox" and applet not in scripts:
            cpio.link(applet, "/bin/busybox")
    for name in sorted(os.listdir(guest)):
        with open(f"{guest}/{name}", "rb") as f:
            cpio.file("init" if name == "init" else f"bin/{name}", f.read(), 0o755)
    add_modules(cpio, tree, "deps", modules)
    ports = tree.closure(["virtio_pci", "virtio_console"])
    add_modules(cpio, tree, "ports", ports)
    for path in [] if is_debug(kver) else tree.closure(["virtio_blk"]):
        if path not in ports:
            cpio.file("gpu/job-disk.ko", tree.read(path))
    data = cpio.bytes()
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(cached), delete=False) as f:
        f.write(data)
    os.replace(f.name, cached)
    prune(os.path.dirname(cached), "base-", keep=4)
    return cached


def add_modules(cpio, tree, place, paths):
    """Modules at PATHS, which are in loading order, to gpu/PLACE; their names to gpu/PLACE.list."""
    for path in paths:
        cpio.file(f"gpu/{place}/{tree.name(path)}.ko", tree.read(path))
    cpio.file(f"gpu/{place}.list", "".join(f"{tree.name(path)}\n" for path in paths).encode())


def prune(folder, prefix, keep):
    """Of the files PREFIX* of FOLDER, and what is named after them, those used last stay."""
    last_used_s = {}
    for path in (os.path.join(folder, n) for n in os.listdir(folder) if re.fullmatch(rf"{prefix}\w+(\.cpio)?", n)):
        with contextlib.suppress(FileNotFoundError):    # another run of this program prunes too
            last_used_s[path] = os.stat(path).st_mtime
    for path in sorted(last_used_s, key=last_used_s.get, reverse=True)[keep:]:
        lock = os.path.join(folder, f".{os.path.basename(path)}.lock")
        for name in (path, f"{path}.console", lock):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def stripped(ko):
    """Debug information of hundreds of MB has no place in an initramfs; what the kernel loads stays as it is."""
    with open(ko, "rb") as f:
        data = f.read()
    if ko.endswith(".xz"):
        data = subprocess.run(["xz", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data if len(data) < 48 << 20 else edited(data, ["--strip-debug"])


def untraced(data):
    """For the test build: no list of function entries for ftrace, whose check takes half of the time from boot to GPU."""
    return edited(data, ["--remove-section=__mcount_loc", "--remove-section=.rela__mcount_loc"])


def edited(data, objcopy_args):
    """A module after objcopy; kept, for every run has the same."""
    folder = os.path.join(BUILD, "vm")
    kept = os.path.join(folder, f"module-{hashlib.sha256(repr(objcopy_args).encode() + data).hexdigest()[:16]}")
    with contextlib.suppress(FileNotFoundError):
        os.utime(kept)
        with open(kept, "rb") as f:
            return f.read()
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".ko") as f:
        f.write(data)
        f.flush()
        subprocess.run(["objcopy", *objcopy_args, f.name], check=True)
        with open(f.name, "rb") as g:
            data = g.read()
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as f:
        f.write(data)
    os.replace(f.name, kept)
    prune(folder, "module-", keep=8)
    return data


def guest_programs(opts, command):
    """Names in $BUILD/guest: what is small, and what the command or anything that it brings along mentions. All would cost two seconds of each run."""
    folder = f"{BUILD}/guest"
    names = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    if command is None:
        return sorted(names)            # a shell
    by_word = {n.encode(): n for n in names}

    def mentioned(data):
        if data.startswith(b"\x7fELF"):  # a string of its own, or the end of a path: words there are many
            return {n for w, n in by_word.items() if b"\0" + w + b"\0" in data or b"/" + w + b"\0" in data}
        return {by_word[w] for w in re.findall(rb"[\w.-]+", data) if w in by_word}

    wanted = mentioned(command.encode())
    for spec in opts.add:
        host = spec.partition(":")[0]
        for path in [host] if os.path.isfile(host) else [os.path.join(w, n) for w, _, files in os.walk(host) for n in files]:
            with open(path, "rb") as f:
                wanted |= mentioned(f.read())
    found = set()
    while wanted - found:
        name = (wanted - found).pop()
        found.add(name)
        with open(f"{folder}/{name}", "rb") as f:
            wanted |= mentioned(f.read())
    return sorted(found | {n for n in names if os.path.getsize(f"{folder}/{n}") < SMALL_BYTES})


def run_initramfs(opts, command):
    """What belongs to this run alone."""
    cpio = Cpio()
    if opts.amdgpu:
        module = stripped(opts.amdgpu)
        if b"vgpu_readl\0" in module:
            cpio.file("gpu/amdgpu.needs-vgpu", b"")
            module = untraced(module)
        cpio.file("gpu/amdgpu.ko", module)
        package = package_of(opts.amdgpu)
        for path in package:
            cpio.file(f"gpu/package/{ModuleTree.name(path)}.ko", stripped(path))
        cpio.file("gpu/package.list", "".join(f"{ModuleTree.name(path)}\n" for path in package).encode())
    if opts.vgpu:
        with open(opts.vgpu, "rb") as f:
            cpio.file("gpu/vgpu.ko", edited(f.read(), ["--strip-debug"]))
    if opts.disk:
        add_disks(cpio, opts)
    for name in guest_programs(opts, command):
        cpio.add(f"{BUILD}/guest/{name}", f"{PROGRAMS}/{name}")
    if os.path.isdir(f"{BUILD}/firmware"):
        cpio.add(f"{BUILD}/firmware", "lib/firmware")
    for spec in opts.add:
        host, _, guest = spec.partition(":")
        if not os.path.exists(host):
            raise Failure(f"--add {host}: no such file")
        cpio.add(host, guest or f"{PROGRAMS}/{os.path.basename(os.path.normpath(host))}")
    if opts.net:
        tree = ModuleTree(opts.kver)
        add_modules(cpio, tree, "net", tree.closure(["virtio_net"]))
    if command is not None:
        cpio.file("run/command", ((COUNTED if os.environ.get("GCDA") else "") + (OFF_CPU_0 if is_debug(opts.kver) else "") +
                                   command + "\n").encode())
    gpu = opts.gpu if opts.gpu != "none" else ""
    cpio.file("run/settings", "".join(f"{k}={shlex.quote(v)}\n" for k, v in (
        ("GPU", gpu), ("VGPU_ARGS", vgpu_args(opts)), ("AMDGPU_ARGS", opts.amdgpu_args))).encode())
    return cpio.bytes()


def add_disks(cpio, opts):
    """What the guest needs to mount its disks: modules, and which disk goes where."""
    if is_debug(opts.kver):
        raise Failure("--disk: a kernel that looks for mistakes has no disks")
    tree = ModuleTree(opts.kver)
    # A file system's checksums come from a module that depmod knows nothing of, if they are not in the kernel itself.
    add_modules(cpio, tree, "disks", tree.closure(["virtio_blk"] + [n for n in ("crc32c_generic",) if n in tree.files] + ["ext4"]))
    cpio.file("gpu/mounts", "".join(f"disk{n} {folder}\n" for n, (_, folder) in enumerate(opts.disk)).encode())


# ------------------------------------------------------------------------------------------------------------------ QEMU

def qemu_command(opts, kernel, initrd):
    cmdline = CMDLINE.format(low_mb=max(LOW_MB * gpus_of(opts), LEAST_LOW_MB))
    # One host thread for both CPUs: with two, a kernel that patches its own text now and then met a stale int3. Without cmpxchg16b:
    # restarting one under -icount left garbage in EFLAGS. Without erms: under -icount a string instruction is a block for each step, and
    # with it kernel and libc clear and copy by bytes.
    accel = "tcg,thread=single,tb-size=256"
    cpu = "max,-hypervisor,-cx16,-erms"
    extra = []
    if opts.icount:
        # Time counted in instructions, no source of entropy or host time: a run is a function of its input.
        cpu += ",-rdrand,-rdseed"
        # A machine with a cable waits for another one: while it has nothing to do its time passes as the host's, not at once.
        extra = ["-icount", f"shift=0,sleep={'on' if opts.net else 'off'}", "-rtc", "base=2026-01-01,clock=vm"]
        cmdline += " norandmaps random.trust_cpu=off"
    if is_debug(opts.kver):
        cmdline += DEBUG_CMDLINE
    cpus = 2
    if is_kcsan(opts.kver):
        cmdline += KCSAN_CMDLINE
        cpus = 3
    smp = str(cpus)
    if opts.numa > 1:
        smp = f"{cpus * opts.numa},sockets={opts.numa},cores={cpus}"
        extra += numa(opts, cpus)
    if opts.append:
        cmdline += " " + opts.append
    if opts.net:
        extra += network(opts.net)
    if opts.gdb:
        extra += ["-gdb", f"tcp:127.0.0.1:{opts.gdb}", "-S"]
    return ["qemu-system-x86_64", "-machine", "pc", "-accel", accel, "-cpu", cpu, "-smp", smp, "-m", f"{opts.mem}M",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", initrd,
            "-append", cmdline] + extra


def numa(opts, cpus):
    """So many nodes, with so many CPUs each; all but the first have little memory, at its end, where the virtual GPU's is not."""
    args = []
    for node in range(opts.numa):
        mb = NUMA_NODE_MB if node else opts.mem - NUMA_NODE_MB * (opts.numa - 1)
        args += ["-object", f"memory-backend-ram,id=node{node},size={mb}M",
                 "-numa", f"node,nodeid={node},cpus={cpus * node}-{cpus * (node + 1) - 1},memdev=node{node}"]
    return args


def network(net):
    """An Ethernet device at a cable of two ends, which are Unix sockets. Its address follows from its own end. Without firmware to boot from."""
    here, there = net
    mac = "52:54:00:" + ":".join(f"{byte:02x}" for byte in hashlib.sha256(here.encode()).digest()[:3])
    return ["-netdev", f"dgram,id=cable,local.type=unix,local.path={here},remote.type=unix,remote.path={there}",
            "-device", f"virtio-net-pci,netdev=cable,mac={mac},romfile=,addr=1e"]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)      # PR_SET_PDEATHSIG


def gpus_of(opts):
    """How many virtual GPUs there are."""
    return int((re.findall(r"\bgpus=(\d+)", opts.vgpu_args) or [1])[-1])


def vgpu_args(opts):
    debug = DEBUG_VGPU_ARGS + " " if is_debug(opts.kver) else ""
    # Pauses are time of the device: where time is counted, they do not depend on what else runs.
    return f"{debug}{'' if opts.icount else 'pauses=wanted '}{opts.vgpu_args}"


def is_debug(kver):
    """A kernel that was built to look for mistakes has that in its version."""
    return "-debug-" in kver or is_kcsan(kver)


def is_kcsan(kver):
    return "-kcsan-" in kver


def allowed_reports(kver):
    """What the debug kernel may say: faults of the kernel itself or of the stock driver, each with its reason in the file."""
    path = os.environ.get("VM_ALLOWED")
    if not path or not is_debug(kver):
        return []
    with open(path) as f:
        return [re.compile(line.strip(), re.S) for line in f if line.strip() and not line.startswith("#")]


def complaint(console, allowed):
    """The first line of the first report in the kernel's log that is not allowed."""
    with open(console, errors="replace") as f:
        lines = f.read().splitlines()
    at = 0
    while at < len(lines):
        begin = at
        at += 1
        if not COMPLAINTS.search(lines[begin]):
            continue
        if not allowed:
            return lines[begin].strip()
        if any(a.search(lines[begin]) for a in allowed):
            continue                    # of this line alone: what follows is another matter
        while at < min(len(lines), begin + REPORT_LINES) and "</TASK>" not in lines[at - 1]:
            at += 1
        if not any(a.search("\n".join(lines[begin:at])) for a in allowed):
            return lines[begin].strip()
    return None


def leak(path, allowed):
    """The first leak that is not allowed, with who allocated it; the guest leaves what its kernel found, if it looks for leaks."""
    with contextlib.suppress(FileNotFoundError), open(path, errors="replace") as f:
        for report in re.split(r"^(?=unreferenced object)", f.read(), flags=re.M):
            if report and not any(a.search(report) for a in allowed):
                return report.strip()
    return None


class Ports:
    """The guest's virtio-serial ports: stdout and stderr go straight on, the result is collected, a waiting guest is told to go on.

    The result starts with a line "exit STATUS OUT ERR SIZE": the command's status, the bytes it wrote to either stream, the
    size of the tar that follows. When all of it is here the guest gets one byte, then powers off.
    """
    NAMES = ("out", "err", "result")

    def __init__(self):
        self.result, self.head, self.ours, self.theirs, self.args = bytearray(), None, {}, [], []
        self.seen = dict.fromkeys(self.NAMES, 0)
        self.lock = threading.Lock()
        self.threads = []
        for nr, name in enumerate(self.NAMES + ("ready",), 1):
            self.args += ["-chardev", self.socket(name), "-device", f"virtserialport,nr={nr},chardev={name},name={name}"]

    def socket(self, name):
        self.ours[name], theirs = socket.socketpair()
        self.theirs.append(theirs)
        return f"socket,id={name},fd={theirs.fileno()}"

    def monitor(self):
        return ["-chardev", self.socket("qmp"), "-mon", "chardev=qmp,mode=control"]

    def close_theirs(self):
        for theirs in self.theirs:
            theirs.close()

    def start(self, job_size=0, job=b""):
        """JOB_SIZE: of the archive that a waiting guest goes on with; JOB: the archive, if it has no disk for it."""
        self.close_theirs()
        write = {"out": fd_writer(1), "err": fd_writer(2), "result": self.result.extend}
        self.threads = [threading.Thread(target=self.pump, args=(n, write[n]), daemon=True) for n in self.NAMES]
        for t in self.threads:
            t.start()
        if job_size:
            self.ours["ready"].send(b"%d\n" % job_size)
        if job:
            threading.Thread(target=self.hand_over, args=(job,), daemon=True).start()

    def hand_over(self, job):
        with contextlib.suppress(OSError):      # the guest died
            self.ours["ready"].sendall(job)

    def pump(self, name, write):
        with contextlib.suppress(ConnectionResetError):
            while data := self.ours[name].recv(1 << 16):
                write(data)
                with self.lock:
                    self.seen[name] += len(data)
                    if not self.head and b"\n" in self.result:
                        line = bytes(self.result[:self.result.index(b"\n")])
                        self.head = [int(w) for w in line.split()[1:]]
                        self.body = len(line) + 1
                    if self.complete():
                        self.ours["result"].send(b"k")

    def complete(self):
        return self.head and (self.seen["out"], self.seen["err"], self.seen["result"]) == (
            self.head[1], self.head[2], self.head[3] + self.body)

    def finish(self):
        for t in self.threads:
            t.join(10)

    def status(self):
        """The command's exit status, or None without a complete result."""
        return self.head[0] if self.complete() else None

    def unpack(self, folder):
        with tarfile.open(fileobj=io.BytesIO(self.result[self.body:]), mode="r:") as tar:
            # What may be in it is seen to here; newer Pythons want to be told that nothing else has to.
            tar.extraction_filter = lambda member, path: member
            for m in tar:
                m.uid, m.gid = os.getuid(), os.getgid()
                target = os.path.normpath(os.path.join(folder, m.name))
                if target != folder and not target.startswith(folder + os.sep):
                    raise Failure(f"/out holds a name that leads outside: {m.name}")
                if m.isfile() or m.isdir() and target != folder:
                    tar.extract(m, folder)


def cmd_run(opts):
    if not opts.command:
        raise Failure("no command: vm.py run [options] -- CMD...")
    with prepared(opts, command_of(opts)) as (kernel, base, job, folder):
        out = os.path.abspath(opts.out) if opts.out else folder
        os.makedirs(out, exist_ok=True)
        console = os.path.join(out, "console.log")
        ports = Ports()
        if may_wait(opts):
            saved = waiting_guest(opts, kernel, base)
            shutil.copyfile(f"{saved}.console", console)
            argv = qemu_command(opts, kernel, base)
            rest = disk(opts, folder, job) + disks(opts) + ["-incoming", f"exec:cat {shlex.quote(saved)}"]
        else:
            open(console, "w").close()
            argv = qemu_command(opts, kernel, joined(folder, base, job))
            rest = disks(opts) + (ports.monitor() if needs_turns(opts) else [])
        qemu = start_qemu(argv, console, ports, rest)
        if "qmp" in ports.ours:
            threading.Thread(target=give_turns, args=(monitor_of(ports.ours["qmp"]), console, opts.timeout), daemon=True).start()
        ports.start(len(job) if may_wait(opts) else 0, job if may_wait(opts) and is_debug(opts.kver) else b"")

        def stop(signum, _frame):
            qemu.kill()
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(128 + signum)
        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(s, stop)
        timed_out = False
        try:
            wait_for(qemu, None if opts.gdb else opts.timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            qemu.kill()
            qemu.wait()
        ports.finish()
        noise = qemu.stderr.read().decode(errors="replace").strip()
        status = ports.status()
        if status is not None:
            ports.unpack(out)
            keep_coverage(os.path.join(out, "gcov"))
        allowed = allowed_reports(opts.kver)
        line = complaint(console, allowed)
        if line:
            log(f"kernel log: {line}")
            keep_console(opts, console, line)
            return EXIT_LOG
        leaked = leak(os.path.join(out, "kmemleak"), allowed)
        if leaked:
            log(f"leaked: {leaked}")
            return EXIT_LOG
        if timed_out and status is None:
            log(f"timeout: no result within {opts.timeout:g} s")
            keep_console(opts, console)
            return EXIT_TIMEOUT
        if status is None:
            if noise:
                log(f"QEMU: {noise}")
            log("the guest ended without a result")
            keep_console(opts, console)
            return EXIT_LOG
        return status


def keep_coverage(counted):
    """$GCDA: a folder for which lines the kernel has run, with what the compiler left beside each object; each run adds its own."""
    if not os.environ.get("GCDA") or not os.path.isdir(counted):
        return
    os.makedirs(os.environ["GCDA"], exist_ok=True)
    kept = tempfile.mkdtemp(prefix="run.", dir=os.environ["GCDA"])
    shutil.copytree(counted, kept, dirs_exist_ok=True)
    for where, _, names in os.walk(kept):
        for name in names:
            notes = os.path.join("/", os.path.relpath(where, kept), name.replace(".gcda", ".gcno"))
            if os.path.exists(notes):
                shutil.copy(notes, where)


# --------------------------------------------------------------------------------------------------- many runs in one guest

def collect(path, name, argv):
    """A run that is not done now: cmd_batch() does it together with others."""
    with open(path, "a") as f:
        json.dump({"name": name, "argv": argv}, f)
        f.write("\n")
    return 0


def cmd_batch(path, out):
    """
    One guest for all runs that were collected in the file PATH, each of which prints TAP; so does this. Its /out and log go to OUT. Those with the same parameters
    of vgpu.ko and amdgpu.ko come one after the other, in the order in which they were collected; between others both are loaded anew.
    What else is asked for has to be the same in all.
    """
    with open(path) as f:
        runs = [(entry["name"], parse(entry["argv"])) for entry in map(json.loads, f)]
    for _, opts in runs:
        opts.kver = opts.kver or discover_kver()
        other_device(opts, os.environ.get("VM_GPU") or "")
    # Backwards: lifecycle has what lockdep reports of the stock driver, and then looks no further.
    runs.sort(key=lambda run: (run[1].vgpu_args, run[1].amdgpu_args), reverse=True)
    opts = runs[0][1]
    opts.out = out
    scripts = tempfile.mkdtemp(prefix="batch.")
    try:
        loaded = (opts.vgpu_args, opts.amdgpu_args)
        for name, run in runs:
            with open(os.path.join(scripts, name), "w") as f:
                print("#!/bin/sh", file=f)
                if loaded != (run.vgpu_args, run.amdgpu_args):
                    loaded = (run.vgpu_args, run.amdgpu_args)
                    print(shlex.join(["gpu-reload", vgpu_args(run), run.amdgpu_args]), ">&2 || exit 1", file=f)
                print(command_of(run), file=f)
                os.fchmod(f.fileno(), 0o755)
        opts.command = ["tap"] + [f"{PROGRAMS}/batch/{name}" for name, _ in runs]
        opts.add = list(dict.fromkeys(a for _, run in runs for a in run.add)) + [f"{scripts}:{PROGRAMS}/batch"]
        opts.timeout = sum(run.timeout for _, run in runs)
        return cmd_run(opts)
    finally:
        shutil.rmtree(scripts, ignore_errors=True)


def command_of(opts):
    return opts.command[0] if len(opts.command) == 1 else shlex.join(opts.command)


def fd_writer(fd):
    def write(data):
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(fd, data):]
    return write


def keep_console(opts, console, complaint_line=None):
    """The log of a failed run: where it is, or, when the run folder goes away, the complaint with what follows it, or the end."""
    if opts.out:
        log(f"console: {console}")
        return
    with open(console, errors="replace") as f:
        lines = f.read().splitlines()
    at = next((i for i, line in enumerate(lines) if line.strip() == complaint_line), max(0, len(lines) - 40))
    for line in lines[at:at + REPORT_LINES]:
        print(f"  | {line}", file=sys.stderr)


def start_qemu(argv, console, ports, rest):
    """REST comes last: the first virtio device is the one with the ports, /dev/vport0p* in the guest."""
    argv = argv + ["-chardev", f"file,id=console,path={console},append=on", "-serial", "chardev:console",
                   "-device", "virtio-serial-pci"] + ports.args + rest
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            preexec_fn=die_with_parent, pass_fds=[t.fileno() for t in ports.theirs])


def joined(folder, base, job):
    """An initramfs of two archives, for a guest that finds its job when it starts."""
    initrd = os.path.join(folder, "initrd")
    with open(initrd, "wb") as f:
        with open(base, "rb") as g:
            shutil.copyfileobj(g, f)
        f.write(job)
    return initrd


# --------------------------------------------------------------------------------------------------------- waiting guests

def may_wait(opts):
    """
    A boot costs as much as many a run's tests; under -icount more than half of it goes into the calibration of the APIC timer, whose PAUSE
    instructions QEMU leaves its inner loop for. So a guest is booted once and saved when it waits for its job; every run with the same
    kernel and options continues there. VM_BOOT=1 boots each time. The debug kernel has no disks: its guest reads the job from the port
    on which it waits.
    """
    return ((opts.icount or not is_debug(opts.kver)) and not opts.append and not opts.gdb and not opts.net and
            not os.environ.get("VM_BOOT"))


def waiting_guest(opts, kernel, base):
    """File with the state of a guest that waits for its job; beside it, FILE.console, what its kernel has said so far."""
    folder = os.path.join(CACHE, "vm")
    key = hashlib.sha256(repr(qemu_command(opts, "", "")).encode())
    for image, _ in opts.disk:
        key.update(b"disk %d" % os.path.getsize(image))
    key.update(subprocess.run(["qemu-system-x86_64", "--version"], stdout=subprocess.PIPE, check=True).stdout)
    for path in (kernel, base):
        with open(path, "rb") as f:
            key.update(f.read())
    saved = os.path.join(folder, f"guest-{key.hexdigest()[:16]}")
    if os.path.exists(saved):
        os.utime(saved)
        return saved
    name = os.path.basename(saved)
    # One lock for each: another guest may be booting, and slowly.
    with locked(os.path.join(folder, f".{name}.lock")):
        if not os.path.exists(saved):
            for left in os.listdir(folder):
                if left.startswith(f"boot.{name}."):        # of a run that was killed
                    shutil.rmtree(os.path.join(folder, left), ignore_errors=True)
            boot_waiting_guest(opts, kernel, base, saved)
            prune(folder, "guest-", keep=10)
    return saved


def disks(opts):
    """Those of --disk. The guest knows them by their serial numbers."""
    args = []
    for n, (image, _) in enumerate(opts.disk):
        args += ["-drive", f"file={image.replace(',', ',,')},format=raw,if=none,readonly=on,id=disk{n}",
                 "-device", f"virtio-blk-pci,drive=disk{n},serial=disk{n}"]
    return args


def disk(opts, folder, job):
    """A disk that holds JOB. All are of one size, for a guest goes on with another one than it began with."""
    if is_debug(opts.kver):
        return []
    path = os.path.join(folder, "job")
    with open(path, "wb") as f:
        f.write(job)
        if len(job) > DISK_BYTES:
            raise Failure(f"what the run takes along has {len(job)} bytes, at most {DISK_BYTES} are possible: VM_BOOT=1 has no bound")
        f.truncate(DISK_BYTES)
    return ["-drive", f"file={path},format=raw,if=none,readonly=on,id=job", "-device", "virtio-blk-pci,drive=job"]


def boot_waiting_guest(opts, kernel, base, saved):
    ports = Ports()
    work = tempfile.mkdtemp(prefix=f"boot.{os.path.basename(saved)}.", dir=os.path.dirname(saved))
    console = os.path.join(work, "console")
    open(console, "w").close()
    qemu = start_qemu(qemu_command(opts, kernel, base), console, ports,
                      disk(opts, work, b"") + disks(opts) + ports.monitor() + ["-global", "migration.store-global-state=off"])
    try:
        ports.close_theirs()
        for ours in ports.ours.values():
            ours.settimeout(opts.timeout)
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            ask = monitor_of(ports.ours["qmp"])
            if needs_turns(opts):
                give_turns(ask, console, opts.timeout)
            if ports.ours["ready"].recv(6) == b"ready\n" and not complaint(console, []):
                save_guest(ask, f"{work}/guest")
                os.rename(console, f"{saved}.console")
                os.rename(f"{work}/guest", saved)
                return
        with open(console, errors="replace") as f:
            raise Failure("the guest did not come to wait for its job; its kernel's last words:\n" + f.read()[-2000:])
    finally:
        qemu.kill()
        qemu.wait()
        shutil.rmtree(work)


def monitor_of(connection):
    """A function that gives QEMU a command and returns the answer."""
    lines = connection.makefile("rw")

    def ask(command, **arguments):
        print(json.dumps({"execute": command, "arguments": arguments}), file=lines, flush=True)
        for line in lines:
            answer = json.loads(line)
            if "error" in answer:
                raise Failure(f"QEMU: {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise Failure(f"QEMU ended at {command}")

    lines.readline()                    # the greeting
    ask("qmp_capabilities")
    return ask


def needs_turns(opts):
    """Before 6.5 the CPU that starts another one waits for it in a loop in which QEMU's -icount does not give the other its turn."""
    return opts.icount and [int(number) for number in opts.kver.split(".")[:2]] < [6, 5]


def give_turns(ask, console, seconds):
    """Stops a guest and lets it go on, which begins with the other CPU, until both are up, or so long."""
    end = time.monotonic() + seconds
    with contextlib.suppress(Failure, OSError):         # QEMU ended, and who waits for it will say so
        while time.monotonic() < end:
            with open(console, errors="replace") as f:
                if "smp: Brought up" in f.read():
                    return
            ask("stop")
            ask("cont")
            time.sleep(0.01)


def save_guest(ask, path):
    """
    Write the state of a guest to PATH. It is stopped for that: QEMU may lose a write of a guest that runs
    meanwhile. That it was stopped is not saved (store-global-state), so it goes on by itself.
    """
    ask("stop")
    ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
    ask("migrate", uri=f"exec:cat > {shlex.quote(path)}")
    while (state := ask("query-migrate").get("status")) != "completed":
        if state in ("failed", "cancelled"):
            raise Failure(f"QEMU could not save the guest: {state}")
        time.sleep(0.05)


def cmd_shell(opts):
    for name in COMFORT:
        if shutil.which(name):
            opts.add.append(f"{shutil.which(name)}:{PROGRAMS}/{name}")
    opts.add += [f"{host}:{guest}" for host, guest in COMFORT_FILES.items() if os.path.exists(host)]
    if opts.out:
        opts.add.append(f"{HERE}/shell-profile:/root/.profile")
    with prepared(opts, None) as (kernel, base, job, folder):
        argv = qemu_command(opts, kernel, joined(folder, base, job)) + ["-serial", "mon:stdio"]
        if not opts.out:
            return subprocess.run(argv + disks(opts), preexec_fn=die_with_parent).returncode
        ports = Ports()
        with subprocess.Popen(argv + ["-device", "virtio-serial-pci"] + ports.args + disks(opts), preexec_fn=die_with_parent,
                              pass_fds=[t.fileno() for t in ports.theirs]) as qemu:
            ports.start()
        ports.finish()
        if ports.status() is None:
            raise Failure("nothing came out of /out: leave the guest with exit")
        out = os.path.abspath(opts.out)
        os.makedirs(out, exist_ok=True)
        ports.unpack(out)
        return qemu.returncode


def waited_for_a_cpu(pid):
    """Seconds that the thread of a process that had to wait the longest was ready to run and did not, as others did; 0 where that is not counted."""
    waited = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError, IndexError, ValueError), open(path) as f:
            waited = max(waited, int(f.read().split()[1]))
    return waited / 1e9


def wait_for(child, seconds):
    """Like child.wait(); but what a busy machine keeps it waiting does not count."""
    begun = time.monotonic()
    while True:
        left = None if seconds is None else seconds + waited_for_a_cpu(child.pid) - (time.monotonic() - begun)
        if left is not None and left <= 0:
            raise subprocess.TimeoutExpired(child.args, seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(left and max(left, 0.1))


@contextlib.contextmanager
def prepared(opts, command):
    """Kernel, the part of its initramfs that runs share, the part that belongs to one run, and a folder for it."""
    if not shutil.which("qemu-system-x86_64"):
        raise Failure("qemu-system-x86_64 is missing")
    kver = opts.kver = opts.kver or discover_kver()
    if is_debug(kver):
        opts.timeout *= DEBUG_SLOWDOWN
    kernel = os.path.join(kernel_dir(kver), "vmlinux")
    tree = ModuleTree(kver)
    if not opts.amdgpu:
        opts.amdgpu = os.environ.get({"fast": "AMDGPU_TEST_KO", "verbatim": "AMDGPU_RELEASE_KO"}.get(opts.gpu, ""), "").replace("{kver}", kver)
    if opts.amdgpu == "stock" or (opts.gpu == "verbatim" and not opts.amdgpu):
        opts.amdgpu = os.path.join(tree.root, tree.files["amdgpu"])
    opts.vgpu = opts.vgpu or os.environ.get("VGPU_KO") or f"{BUILD}/vgpu/vgpu.ko"
    if not os.path.exists(opts.vgpu):
        if opts.gpu != "none":
            raise Failure(f"--gpu {opts.gpu} needs {opts.vgpu}: make -C tools/vgpu")
        opts.vgpu = None
    if opts.gpu == "fast" and not opts.amdgpu:
        raise Failure("--gpu fast needs a build of amdgpu with intercept.h: give --amdgpu KO, or try --gpu verbatim")
    if opts.amdgpu and not os.path.exists(opts.amdgpu):
        raise Failure(f"no such module: {opts.amdgpu}")
    # The test build depends on vgpu.ko, which gpu-up loads itself, as it does what is beside amdgpu.ko.
    package = package_of(opts.amdgpu) if opts.amdgpu else []
    taken = {"vgpu"} | {ModuleTree.name(path) for path in package}
    deps = []
    for ko in filter(None, [opts.amdgpu, *package, opts.vgpu]):
        deps += [d for d in depends_of(ko) if d not in taken and d not in deps]
    os.makedirs(f"{BUILD}/vm", exist_ok=True)
    folder = tempfile.mkdtemp(prefix="run.", dir=f"{BUILD}/vm")
    try:
        yield kernel, base_initramfs(kver, deps), run_initramfs(opts, command), folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def other_device(opts, device):
    """$VM_GPU: what runs on a device can run on every other one, and on the module that users get; $VM_GPUS: and beside others."""
    if opts.gpu == "none":
        return
    if os.environ.get("VM_GPUS"):
        opts.vgpu_args = f"gpus={os.environ['VM_GPUS']} {opts.vgpu_args}"
    for word in filter(None, device.split(",")):
        gfx942 = re.fullmatch(r"gfx942(?:x([1248]))?", word)
        if gfx942:
            opts.vgpu_args = f"asic=gfx942 xccs={gfx942[1] or 1} {opts.vgpu_args}"
        elif word == "gfx1100":
            opts.vgpu_args = f"asic={word} {opts.vgpu_args}"
        elif word in PRODUCTS:
            opts.vgpu_args = f"preset={word} {opts.vgpu_args}"
        elif word == "verbatim":
            opts.gpu = word
        elif word != "gfx90a":
            raise Failure(f"VM_GPU={device}: '{word}' is not one of gfx90a, gfx942, gfx942x2, gfx942x4, gfx942x8, "
                          f"gfx1100, {', '.join(PRODUCTS)}, verbatim")


def parse(argv):
    parser = argparse.ArgumentParser(prog="vm.py", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "shell", "kver", "fetch"))
    parser.add_argument("--gpu", choices=("none", "fast", "verbatim", *PRODUCTS), default="none",
                        help="virtual GPU and front end to bring up before CMD; a product: as large as that, fast if there is a build for it")
    parser.add_argument("--gpus", metavar="N", type=int, choices=range(1, MAX_GPUS + 1),
                        help=f"so many virtual GPUs, 1 to {MAX_GPUS} (1); --vgpu-args 'preset=mi210,mi308x' makes them different")
    parser.add_argument("--numa", metavar="N", type=int, choices=range(1, MAX_NUMA + 1), default=1,
                        help="NUMA nodes of two CPUs each, 1 or 2 (1); --vgpu-args numa=0,1 says where the GPUs are")
    parser.add_argument("--amdgpu", metavar="KO", help="module to take into the guest; `stock' is the kernel package's own")
    parser.add_argument("--vgpu", metavar="KO", help="virtual GPU's module (default $BUILD/vgpu/vgpu.ko)")
    parser.add_argument("--vgpu-args", metavar="S", default="", help="more parameters for vgpu.ko")
    parser.add_argument("--amdgpu-args", metavar="S", default="", help="more parameters for amdgpu.ko")
    parser.add_argument("--icount", action="store_true", help="deterministic guest time")
    parser.add_argument("--kver", metavar="V", help="kernel version (default: the newest 6.12 whose headers are installed)")
    parser.add_argument("--mem", metavar="MB", type=int, default=6144, help="guest memory (default 6144, at least 5632)")
    parser.add_argument("--timeout", metavar="S", type=float, default=300, help="seconds until QEMU is killed, not counting those that it waits for a CPU (300)")
    parser.add_argument("--append", metavar="CMDLINE", default="", help="more kernel parameters")
    parser.add_argument("--add", metavar="HOST[:GUEST]", action="append", default=[],
                        help=f"file or folder for the guest (default place: {PROGRAMS})")
    parser.add_argument("--net", metavar="HERE:THERE", help="a network device eth0 on a cable to the VM that says --net THERE:HERE: paths of two Unix sockets")
    parser.add_argument("--disk", metavar="IMAGE:FOLDER", action="append", default=[],
                        help="file system (ext4) to mount there, read-only; several runs may share it")
    parser.add_argument("--out", metavar="DIR", help="where console.log and the guest's /out go")
    parser.add_argument("--gdb", metavar="PORT", type=int, help="wait for gdb at this port; no timeout")
    parser.usage = "vm.py run [options] -- CMD...  |  vm.py shell [options]  |  vm.py kver  |  vm.py fetch"
    # Split here: argparse would take part of CMD for options.
    cut = argv.index("--") if "--" in argv else len(argv)
    opts = parser.parse_args(argv[:cut])
    opts.command = argv[cut + 1:]
    if opts.gpus:
        opts.vgpu_args = f"gpus={opts.gpus} {opts.vgpu_args}"
    if opts.gpu in PRODUCTS:
        opts.vgpu_args = f"preset={opts.gpu} {opts.vgpu_args}"
        opts.gpu = "fast" if opts.amdgpu or os.environ.get("AMDGPU_TEST_KO") else "verbatim"
    if opts.net:
        opts.net = [os.path.abspath(path) for path in opts.net.split(":")]
        if len(opts.net) != 2 or any(len(path) > MAX_SOCKET_PATH or "," in path for path in opts.net):
            parser.error(f"--net: two paths of at most {MAX_SOCKET_PATH} bytes, without commas, with a colon between them")
    opts.disk = [spec.rpartition(":")[::2] for spec in opts.disk]
    for image, folder in opts.disk:
        if not os.path.isfile(image) or not folder.startswith("/"):
            parser.error(f"--disk {image}:{folder}: it takes a file and a folder of the guest, as in system.ext4:/mnt")
    if opts.mem - NUMA_NODE_MB * (opts.numa - 1) < 5632:
        parser.error("--mem: the virtual GPU's memory ends at 5 GiB, 5632 MB is the least")
    return opts


def main():
    if sys.argv[1:2] == ["run"] and os.environ.get("VM_COLLECT"):
        return collect(os.environ["VM_COLLECT"], os.environ["VM_NAME"], sys.argv[1:])
    try:
        if sys.argv[1:2] == ["batch"] and len(sys.argv) == 4:
            return cmd_batch(*sys.argv[2:])
        opts = parse(sys.argv[1:])
        if opts.action == "kver":
            print(opts.kver or discover_kver())
            return 0
        if opts.action == "fetch":
            kernel_dir(opts.kver or discover_kver())
            return 0
        other_device(opts, os.environ.get("VM_GPU") or "")
        return cmd_run(opts) if opts.action == "run" else cmd_shell(opts)
    except Failure as e:
        log(e)
        return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
