# SPDX-License-Identifier: MIT
"""architecture_trees.py - what architecture.py knows of each tree besides kfd_gpreempt/

	prefixes	file: what names of its static functions begin with, if that is not its own name
	deep		False: files of the folder itself only, none of those below it

What does not hold yet is listed here. These lists only shrink: an entry that is not needed
fails the test.

	circles		calls without which no file calls one that calls it
	names		file: how many static functions do not carry its name
	columns		file: how many lines of comments are too long
	lines		file: how many functions are too long
	riddles		file: how many words hide what acts
"""

TREES = {
    "tools/vgpu/model": {
        "prefixes": {"wave_slots": ["waves_"], "isa_waves": ["waves_"]},
        "circles": ["isa -> isa_trap", "isa_matrix -> isa_vector"],
        "names": {
            "isa.c": 8, "isa_float.c": 22, "isa_matrix.c": 6, "isa_memory.c": 33, "isa_object.c": 4,
            "isa_scalar.c": 18, "isa_vector.c": 79,
        },
        "columns": {
            "aql.c": 1, "aql.h": 1, "asic.c": 2, "bounds.h": 7, "cp.c": 5, "cwsr.c": 6, "device.c": 6, "device.h": 4,
            "discovery.c": 3, "dispatch.c": 1, "gpuvm.c": 4, "hws.c": 5, "isa.c": 2, "isa.h": 8,
            "isa_float.h": 4, "isa_lanes.c": 4, "isa_lanes.h": 5, "isa_memory.c": 6, "isa_scalar.c": 3,
            "isa_trap.c": 6, "isa_vector.c": 4, "isa_waves.c": 6, "memory.h": 1,
            "model.h": 1, "os.h": 1, "pm4.c": 10, "product.c": 1, "queue.c": 2, "queue.h": 2, "regs.c": 4,
            "regs.h": 19, "ring.c": 3, "save_area.h": 4, "sdma.c": 3, "vgpu_model.h": 3,
            "wave_slots.c": 1,
        },
        "lines": {
            "cp.c": 1, "dispatch.c": 1, "isa_memory.c": 2, "isa_scalar.c": 2, "isa_vector.c": 4, "pm4.c": 1,
            "regs.c": 1, "sdma.c": 1, "wave_slots.c": 1,
        },
        "riddles": {
            "cp.c": 1, "cwsr.c": 1, "dispatch.c": 2, "hws.c": 2, "memory.h": 1, "queue.h": 2,
        },
    },
    "tools/vgpu": {
        "deep": False,
        "prefixes": {"front_intercept": ["intercept_"], "front_kmmio": ["kmmio_"], "main": ["vgpu_"]},
        "names": {
            "debugfs.c": 14, "front_intercept.c": 4, "front_kmmio.c": 12, "main.c": 35, "params.c": 17,
            "pci.c": 12, "vbios.c": 4,
        },
        "columns": {
            "debugfs.c": 1, "front_kmmio.c": 1, "intercept.h": 3, "leaks.c": 1, "main.c": 9, "pci.c": 2,
        },
    },
    "tools/gpreemptctl": {
        "circles": ["doctor -> driver", "doctor -> programs", "usage_metrics -> stats"],
        "names": {
            "account.c": 13, "apply.c": 24, "doctor.c": 14, "driver.c": 5, "events.c": 3,
            "hold.c": 1, "identity.c": 8, "job.c": 8, "list.c": 5, "main.c": 5, "origin.c": 12,
            "output.c": 1, "probe.c": 14, "process.c": 3, "programs.c": 10, "report.c": 16, "set.c": 7,
            "share.c": 8, "stats.c": 16, "sysfs.c": 2, "top.c": 9, "tree.c": 7, "tune.c": 10, "usage.c": 7,
            "usage_metrics.c": 7, "verdict.c": 9, "workload.c": 6,
        },
        "columns": {
            "account.c": 1, "apply.c": 3, "doctor.c": 2, "driver.c": 4, "gpreemptctl.h": 1,
            "identity.c": 3, "list.c": 1, "main.c": 1, "origin.c": 10, "origin.h": 3, "probe.c": 4,
            "process.c": 2, "programs.c": 4, "report.c": 3, "set.c": 2, "stats.c": 3, "sysfs.c": 2,
            "target.c": 1, "tree.c": 1, "tune.c": 2, "usage.c": 3, "usage.h": 2,
            "usage_metrics.c": 3, "workload.c": 4, "workload.h": 1,
        },
        "lines": {"main.c": 1},
        "riddles": {"main.c": 1, "origin.c": 1},
    },
    "tools/gpreemptd": {
        "circles": ["config -> main", "engine -> main"],
        "names": {"config.c": 11, "engine.c": 27, "main.c": 11, "sched.c": 13},
        "columns": {"config.c": 4, "engine.c": 9, "sched.c": 6, "sched.h": 2},
        "riddles": {"sched.c": 2, "sched.h": 1},
    },
    "lib": {
        "names": {
            "classes.c": 12, "environment.c": 6, "gpreempt.c": 6, "hsa.c": 4, "match.c": 1, "preload.c": 9, "seen.c": 4,
            "unit.c": 13,
        },
        "columns": {
            "classes.c": 1, "classes.h": 3, "environment.c": 3, "environment.h": 4, "gpreempt-preload.h": 3,
            "gpreempt.c": 2, "gpreempt.h": 43, "hsa.c": 3, "hsa_abi.h": 1, "kfd.h": 2, "match.c": 1, "match.h": 1, "parse.h": 2,
            "preload.c": 5, "seen.c": 1, "unit.c": 9,
        },
    },
    "integrations": {
        "prefixes": {"gpreempt-nri": ["nri_"], "gpreempt-oci": ["oci_"], "spank_gpreempt": ["spank_"]},
        "names": {
            "gpreempt-oci.c": 19, "note.c": 3, "place.c": 2, "share.c": 5, "stop.c": 2,
        },
        "columns": {
            "gpreempt-oci.c": 12, "hip_queue.h": 5, "place.h": 11, "share.h": 4,
            "stop.h": 4,
        },
    },
}
