/* SPDX-License-Identifier: MIT */
/*
 * queue.pml - the states of a queue without the hardware scheduler, checked exhaustively by spin
 *
 * Documentation/design.rst ("The MQD backend") is the specification. The flags have their names in C, and so has each inline whose C function
 * writes them: `agree.py` compares what they write. Two queues use one slot, the second one after the first is gone. The monitor, the driver, the
 * device and a reset of the GPU are processes; whatever happens under dqm_lock is atomic.
 *
 * What must hold: the device never gets a queue that it has, or a slot that another one has; what is off the device is not active, what is active
 * is not off for good; who is preempted is resumed, lost or gone in the end; after switching off nobody is preempted who is not lost.
 */
#define NR	2
#define NOBODY	NR
/* The policy holds for so many passes at most; the monitor waits for so many; so many loads fail. */
#define MAX_HOLD	1
#define PATIENCE	1
#define MAX_FAILURES	1

bool is_active[NR], is_preempted[NR], leaving[NR], killed[NR], lost[NR];
bool registered[NR], exists[NR], gone[NR], evicted[NR];
byte held[NR], waited[NR], failures;
/* What the device has, and whether it has been asked to let it go. */
byte slot = NOBODY;
bool asked[NR];
bool parking, off, gpu_reset_wanted;

#define ON_DEVICE(q)		(slot == q)
#define QUEUE_IS_ACTIVE(q)	(!evicted[q] && !is_preempted[q])

/* What state gpreempt_queue_state() shows. */
#define LEAVING(q)	(registered[q] && is_preempted[q] && leaving[q])
#define PREEMPTED(q)	(registered[q] && is_preempted[q] && !leaving[q] && !lost[q])
#define LOST(q)		(lost[q])

inline hardware_load(q)
{
	assert(slot == NOBODY);
	assert(exists[q] && !evicted[q] && !lost[q]);
	slot = q;
	asked[q] = false
}

/* The device lets a queue go at once, or later, or never. */
inline mqd_unload(q, late)
{
	if
	:: ON_DEVICE(q) ->
		if
		:: slot = NOBODY; late = false
		:: asked[q] = true; late = true
		fi
	:: else -> late = false
	fi
}

inline mqd_deactivate(q)
{
	is_active[q] = false
}

inline mqd_take_off(q, late)
{
	mqd_unload(q, late);
	leaving[q] = late;
	if
	:: late -> is_preempted[q] = true; killed[q] = false; waited[q] = 0
	:: else -> skip
	fi
}

inline mqd_preempt(q)
{
	if
	:: !is_preempted[q] && is_active[q] ->
		mqd_take_off(q, late);
		is_preempted[q] = true;
		held[q] = 0;
		if
		:: !late -> mqd_deactivate(q)
		:: else -> skip
		fi
	:: else -> skip
	fi
}

inline mqd_lost(q)
{
	leaving[q] = false;
	lost[q] = true;
	mqd_deactivate(q)
}

inline mqd_look_after(q)
{
	if
	:: leaving[q] && !ON_DEVICE(q) && killed[q] -> mqd_lost(q)
	:: leaving[q] && !ON_DEVICE(q) && !killed[q] -> leaving[q] = false; mqd_deactivate(q)
	:: leaving[q] && ON_DEVICE(q) && !killed[q] && waited[q] < PATIENCE -> waited[q]++
	:: leaving[q] && ON_DEVICE(q) && !killed[q] && waited[q] == PATIENCE ->
		killed[q] = true;
		if
		:: slot = NOBODY; mqd_lost(q)
		:: gpu_reset_wanted = true
		fi
	:: else -> skip
	fi
}

inline mqd_load(q)
{
	hardware_load(q);
	is_active[q] = true;
	if
	:: skip
	:: failures < MAX_FAILURES ->
		failures++;
		is_preempted[q] = true;
		killed[q] = false;
		waited[q] = 0;
		mqd_unload(q, late);
		leaving[q] = late;
		if
		:: !late -> mqd_deactivate(q)
		:: else -> skip
		fi
	fi
}

inline mqd_resume(q)
{
	if
	:: !is_preempted[q] || lost[q] || (leaving[q] && !parking) -> skip
	:: else ->
		is_preempted[q] = false;
		if
		:: leaving[q] -> leaving[q] = false
		:: !leaving[q] && QUEUE_IS_ACTIVE(q) && !parking -> mqd_load(q)
		:: !leaving[q] && QUEUE_IS_ACTIVE(q) && parking -> is_active[q] = true
		:: else -> skip
		fi
	fi
}

inline check(q)
{
	/* Off the device, or known to be on its way. */
	assert(!(is_preempted[q] && !leaving[q] && ON_DEVICE(q)));
	assert(!(is_preempted[q] && !leaving[q] && is_active[q]));
	/* What the driver goes by when somebody is still there. */
	assert(!(leaving[q] && !is_active[q] && ON_DEVICE(q)));
	/* Nobody owns the slot who is gone. */
	assert(!(gone[q] && ON_DEVICE(q)));
	/* Nobody is forgotten: who could run has the device, or waits for a reset. */
	assert(!(registered[q] && !is_preempted[q] && QUEUE_IS_ACTIVE(q) && !is_active[q] && !parking))
}

active proctype monitor()
{
	bool late;
	byte q;

	do
	:: atomic {
		!off && !parking ->
		for (q : 0 .. NR - 1) {
			if
			:: registered[q] ->
				mqd_look_after(q);
				if
				:: !is_preempted[q] -> mqd_preempt(q)
				:: !is_preempted[q] -> skip
				:: is_preempted[q] && held[q] < MAX_HOLD -> held[q]++
				:: is_preempted[q] -> mqd_resume(q)
				fi;
				if
				:: is_preempted[q] && held[q] >= MAX_HOLD -> mqd_resume(q)
				:: else -> skip
				fi;
				check(q)
			:: else -> skip
			fi
		}
	   }
	/* Switched off: everything is resumed, and who is on its way off is waited for. */
	:: atomic {
		!parking ->
		off = true;
		for (q : 0 .. NR - 1) {
			if
			:: registered[q] ->
				mqd_look_after(q);
				mqd_resume(q);
				check(q)
			:: else -> skip
			fi
		}
	   }
	:: atomic {
		off && !(registered[0] && is_preempted[0] && !lost[0]) && !(registered[1] && is_preempted[1] && !lost[1]) ->
		for (q : 0 .. NR - 1) {
			assert(!registered[q] || !is_preempted[q] || lost[q])
		}
		break
	   }
	od
}

/* Who was asked leaves, or does not. */
active proctype device()
{
	do
	:: atomic { slot != NOBODY && asked[slot] -> slot = NOBODY }
	:: gone[0] && gone[1] -> break
	od
}

/* The driver asks until a queue is off: it waits for longer than anything here. */
inline driver_unload(q)
{
	if
	:: is_active[q] && ON_DEVICE(q) -> slot = NOBODY
	:: else -> skip
	fi
}

active proctype driver()
{
	byte d;

	for (d : 0 .. NR - 1) {
		atomic {
			exists[d] = true;
			registered[d] = !off;
			if
			:: QUEUE_IS_ACTIVE(d) -> hardware_load(d); is_active[d] = true
			:: else -> skip
			fi
		}
		do
		:: atomic { !parking && !evicted[d] -> driver_unload(d); evicted[d] = true; is_active[d] = false; leaving[d] = leaving[d] && ON_DEVICE(d) }
		:: atomic { !parking && evicted[d] -> evicted[d] = false;
			if
			:: QUEUE_IS_ACTIVE(d) -> hardware_load(d); is_active[d] = true
			:: else -> skip
			fi }
		:: atomic { !parking -> driver_unload(d); is_active[d] = false; exists[d] = false; registered[d] = false; gone[d] = true; check(d) }
			break
		od
	}
}

/* A reset of the GPU, when it is wanted, and once for nothing: the monitor resumes everything, the device forgets everything. */
active proctype reset()
{
	bool late, for_nothing;
	byte r;

	do
	:: atomic { gpu_reset_wanted || !for_nothing ->
		if
		:: gpu_reset_wanted -> skip
		:: else -> for_nothing = true
		fi;
		parking = true;
		for (r : 0 .. NR - 1) {
			if
			:: registered[r] -> mqd_resume(r)
			:: else -> skip
			fi
		}
	   }
	   atomic {
		slot = NOBODY;
		for (r : 0 .. NR - 1) {
			asked[r] = false;
			if
			:: exists[r] && !lost[r] && QUEUE_IS_ACTIVE(r) -> hardware_load(r); is_active[r] = true
			:: else -> skip
			fi
		}
		gpu_reset_wanted = false;
		parking = false
	   }
	:: gone[0] && gone[1] -> break
	od
}

/* Under fairness: who is preempted does not stay so. */
ltl comes_back { [] (PREEMPTED(0) -> <> (!PREEMPTED(0) || gone[0])) }
ltl leaves { [] (LEAVING(0) -> <> (!LEAVING(0) || gone[0])) }
