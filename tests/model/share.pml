/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * share.pml - registered memory that peers map (device/direct/share.h, area.c): THREADS of one peer,
 * which share a table of what they have mapped, and copy; an owner that registers, forks and
 * deregisters; another thread of it that changes the memory (dpa_memory.h), for which nothing
 * waits. README.md says what is checked and what is left out.
 *
 * `mem` is where the program has its memory: in the area of that number, or in private pages (0).
 * A store to the pages of an area that the program does not have any more is lost. Areas are counted
 * and never used again, as places of the memfd are. Stores are seen late and threads are interrupted
 * as in direct.pml with MAPPED.
 *
 * Defects that must be found: MUT_NOFENCE, MUT_NOWAIT, MUT_FORKNOWAIT, MUT_FORKGEN, MUT_REVOKEGEN,
 * MUT_SERIAL, MUT_JOIN.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

byte mem;		/* 0, or the area that is the program's memory */
byte made;		/* areas so far */
byte key, gen, area;	/* the region's: mr[].key, mr_gen[], mr_area[] (0 or 1) */
byte serial;		/* of the area that peers find; 0: none */
bit area2;		/* mr_area[] of a second region, which joins */
bit grant = 1;		/* the QP's access capability */
bit over;		/* the owner has come to its end */

bit hazard[THREADS];	/* as others see it */
byte turn[THREADS];
bit unseen[THREADS];	/* the hazard is in the store buffer */
bit inside[THREADS];	/* in the restartable sequence */
bit racing[THREADS];	/* in it while the program changed the memory: either order is right */

byte mapped;		/* dpa_area_map.serial, and what is mapped at its base */
byte base;
bit map_lock;

active proctype memory()
{
end:	do
	:: d_step { unseen[0] -> hazard[0] = 1; unseen[0] = 0 }
#if THREADS > 1
	:: d_step { unseen[1] -> hazard[1] = 1; unseen[1] = 0 }
#endif
	od
}

/* Whatever interrupts a thread ends its sequence. */
active proctype interrupts()
{
end:	do
	:: d_step { inside[0] -> inside[0] = 0; racing[0] = 0 }
#if THREADS > 1
	:: d_step { inside[1] -> inside[1] = 0; racing[1] = 0 }
#endif
	od
}

proctype peer(byte i)
{
	byte n, g, a, s, c, j;

end:	do
	:: n < OPS ->
		n++;
		d_step { turn[i] = turn[i] + 1; unseen[i] = 1 };	/* dpa_hazard_enter() */
#ifndef MUT_NOFENCE
		!unseen[i];
#endif
		if
		:: !grant -> goto leave
		:: grant
		fi;
		g = gen;
		if
		:: !key -> goto leave
		:: key
		fi;
		a = area;			/* dpa_area_at() */
		if
		:: !a -> goto leave		/* by the kernel, or by packet */
		:: a
		fi;
		s = serial;
		if
		:: !s -> goto leave
#ifdef MUT_SERIAL
		:: s && mapped -> s = mapped
		:: s && !mapped -> goto unmapped
#else
		:: s && mapped == s
		:: s && mapped != s -> goto unmapped
#endif
		fi;
		c = 0;
look:		if
		:: atomic { c < 2 && gen == g && grant -> inside[i] = 1 }
		:: c == 2 || gen != g || !grant -> goto leave
		fi;
		if
		:: atomic { inside[i] ->
			assert(base == s);		/* mapped here */
			assert(mem == s || racing[i]);	/* not lost */
			inside[i] = 0; racing[i] = 0; c++ }
		:: !inside[i]			/* interrupted */
		fi;
		goto look;
unmapped:	skip;
		d_step { unseen[i] = 0; hazard[i] = 0 };
		if				/* dpa_area_map() */
		:: d_step { !map_lock -> map_lock = 1 }
		:: map_lock -> goto next
		fi;
		s = serial;
		if
		:: !s || mapped == s -> goto unlock
		:: s && mapped != s
		fi;
		mapped = 0;			/* seq_cst, fence: at_work() */
		j = 1 - i;
#if THREADS > 1
		if
		:: hazard[j] -> goto unlock
		:: !hazard[j]
		fi;
#endif
		base = 0;
		base = s;
		mapped = s;
unlock:		map_lock = 0;
		goto next;
leave:		skip;
		d_step { unseen[i] = 0; hazard[i] = 0 };
next:		skip
	:: else -> break
	od
}

/* dpa_hazards_wait(): a thread that is not in its sequence will look again. */
inline wait_hazards()
{
	j = 0;
	do
	:: j < THREADS ->
		if
		:: atomic { hazard[j] -> w = turn[j] };
			(!hazard[j] || turn[j] != w || !inside[j])
		:: !hazard[j]
		fi;
		j++
	:: else -> break
	od
}

/* dpa_share_unmake(): its pages are copied back. */
inline unmake()
{
	serial = 0;
	d_step { mem = 0; area2 = 0 }	/* a second region has gone before */
}

active proctype owner()
{
	byte r, j, w;

	atomic {
		j = 0;
		do
		:: j < THREADS -> run peer(j); j++
		:: else -> break
		od
	}
	do
	:: r < ROUNDS ->
		r++;
		/* dpa_hw_reg_mr(), dpa_share_take() */
		d_step { made = made + 1; mem = made };
		serial = made;
		area = 1;
		key = 1;
		if			/* a second region joins, before or behind the other thread's calls */
		:: area2 = 1;
#ifndef MUT_JOIN
			if
			:: !serial -> area2 = 0
			:: serial
			fi
#endif
		:: skip
		fi;
		if
		:: true ->		/* fork(), dpa_share_before_fork(); mprotect() in a process of one thread */
			grant = 0;
#ifndef MUT_FORKNOWAIT
			wait_hazards();
#endif
			area = 0;
#ifndef MUT_FORKGEN
			gen = gen + 1;
#endif
			unmake();
			grant = 1
		:: skip
		fi;
		key = 0;		/* dpa_hw_dereg_mr() */
		gen = gen + 1;
#ifndef MUT_NOWAIT
		wait_hazards();
#endif
		if
		:: mem -> unmake()
		:: !mem
		fi;
		area = 0
	:: else -> break
	od;
	over = 1
}

/* munmap() and the like beside threads: dpa_share_revoke(), for each area once. Nothing is waited for. */
active proctype program()
{
	byte s, n;

end:	do
	:: n < ROUNDS && serial ->
		n++;
		s = serial;
		if
		:: d_step { s && serial == s -> serial = 0 };
			if		/* a CAS for each region */
			:: d_step { area2 -> area2 = 0 }
			:: !area2
			fi;
			if
			:: d_step { area -> area = 0 };
#ifndef MUT_REVOKEGEN
				gen = gen + 1
#endif
			:: !area
			fi;
			/* the memory is another's now, if it was not private already */
			if
			:: d_step { mem == s -> mem = 0;
				racing[0] = inside[0];
#if THREADS > 1
				racing[1] = inside[1]
#endif
			}
			:: mem != s
			fi
		:: s == 0 || serial != s
		fi
	:: over -> break
	od;
	assert(!area2 || serial)
}
