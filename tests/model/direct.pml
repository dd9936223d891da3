/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.pml - hazards and revocation of the direct path (device/direct/direct.h): INITIATORS that
 * copy by themselves, one owner that takes a region back and registers it anew, under the same key
 * at the other of two addresses. README.md says what is checked and what is left out.
 *
 * Stores are seen by others late (a store buffer of one store each), unless a fence comes. An
 * initiator is stopped, goes on and is killed at any moment outside the system call; in it, these
 * wait for its end. With MAPPED there is no system call: the sequence is the copy itself, in PIECES
 * of two stores, and whatever comes between, a stop, a kill or another thread on its processor, ends
 * it; and the owner gives up at any time whom it does not find in the sequence (a sequence that
 * nothing interrupts has long ended when the 2 s have).
 *
 * Defects that must be found: MUT_NOFENCE, MUT_NOOWNFENCE, MUT_NOSEQ, MUT_NOLOOK, MUT_NOWAIT,
 * MUT_KEY, MUT_STOPPED; with MAPPED, MUT_NOFENCE, MUT_NOOWNFENCE, MUT_ONELOOK, MUT_GOESON.
 */
#ifndef INITIATORS
#define INITIATORS 2
#endif
#ifndef OPS
#define OPS 2
#endif
#define ROUNDS 2
#define PIECES 2

bit owned[2];	/* the application may not reuse this address: set from registration to the verb's end */
byte key;	/* 0, or 1: the same each time */
byte gen;
byte addr;
bit pending;	/* key 0 and gen + 1 are in the owner's store buffer */

bit hazard[INITIATORS];	 /* as others see it */
byte turn[INITIATORS];	 /* the number in the hazard's word */
bit unseen[INITIATORS];	 /* the hazard is in the store buffer */
bit stopped[INITIATORS], dead[INITIATORS], inside[INITIATORS];

#define RUNS(i) (!stopped[i] && !dead[i])

/* Store buffers empty themselves some time. */
active proctype memory()
{
	byte i;
end:	do
	:: d_step { pending -> key = 0; gen = gen + 1; pending = 0 }
	:: d_step { unseen[0] -> hazard[0] = 1; unseen[0] = 0 }
#if INITIATORS > 1
	:: d_step { unseen[1] -> hazard[1] = 1; unseen[1] = 0 }
#endif
	od
}

/* SIGSTOP, SIGCONT, SIGKILL: at the threshold of the kernel. A store buffer outlives them. */
proctype signals(byte i)
{
end:	do
#ifdef MUT_GOESON	/* an interrupted copy goes on where it was */
	:: atomic { RUNS(i) -> stopped[i] = 1 }
	:: atomic { !dead[i] -> dead[i] = 1 }
#elif defined(MAPPED)
	:: atomic { RUNS(i) -> inside[i] = 0; stopped[i] = 1 }
	:: atomic { RUNS(i) && inside[i] -> inside[i] = 0 }
	:: atomic { !dead[i] -> inside[i] = 0; dead[i] = 1 }
#else
	:: atomic { !inside[i] && RUNS(i) -> stopped[i] = 1 }
	:: atomic { !inside[i] && !dead[i] -> dead[i] = 1 }
#endif
	:: atomic { stopped[i] && !dead[i] -> stopped[i] = 0 }
	od
}

proctype initiator(byte i)
{
	byte n, g, k, a;
#ifdef MAPPED
	byte c, s;
#endif

	{
end:	do
	:: atomic { n < OPS && RUNS(i) ->
		n++;
		turn[i] = turn[i] + 1;
		unseen[i] = 1 }
#ifndef MUT_NOFENCE
		(RUNS(i) && !unseen[i]);		/* the fence */
#endif
		atomic { RUNS(i) -> g = gen };
		atomic { RUNS(i) -> k = key };
		atomic { RUNS(i) -> a = addr };
		if
		:: atomic { RUNS(i) && !k -> goto leave }
		:: RUNS(i) && k
		fi;
		/* the restartable sequence: the look and what follows are one */
#ifdef MAPPED
		c = 0;
look:		if
#ifdef MUT_ONELOOK
		:: atomic { RUNS(i) && c && c < PIECES -> inside[i] = 1 }
#endif
		:: atomic { RUNS(i) && c < PIECES && gen == g -> inside[i] = 1 }
		:: atomic { RUNS(i) && (c == PIECES || gen != g) -> goto leave }
		fi;
		s = 0;
		do
		:: atomic { RUNS(i) && inside[i] && s < 2 -> assert(owned[a]); s++ }
		:: atomic { RUNS(i) && inside[i] && s == 2 -> inside[i] = 0; c++; goto look }
		:: atomic { RUNS(i) && !inside[i] -> goto look }	/* interrupted */
		od;
#else
#ifdef MUT_NOSEQ
		if
		:: atomic { RUNS(i) && gen != g -> goto leave }
		:: RUNS(i) && gen == g
		fi;
		atomic { RUNS(i) -> inside[i] = 1 };
#elif defined(MUT_NOLOOK)
		atomic { RUNS(i) -> inside[i] = 1 };
#elif defined(MUT_KEY)
		if
		:: atomic { RUNS(i) && key != k -> goto leave }
		:: atomic { RUNS(i) && key == k -> inside[i] = 1 }
		fi;
#else
		if
		:: atomic { RUNS(i) && gen != g -> goto leave }
		:: atomic { RUNS(i) && gen == g -> inside[i] = 1 }
		fi;
#endif
		/* in the system call: takes its time, is not stopped */
		atomic { assert(owned[a]); inside[i] = 0 };
#endif
leave:		atomic { RUNS(i) -> unseen[i] = 0; hazard[i] = 0 }
	od
	} unless { dead[i] }
}

/* Others do not see it die before it has left the kernel; see direct.c: wait_for_hazards(). */
#ifdef MUT_GOESON
#define GIVES_UP(i) (stopped[i] || !inside[i])
#elif defined(MAPPED)
#define GIVES_UP(i) (!inside[i])		/* stopped, or the time is over */
#elif defined(MUT_STOPPED)
#define GIVES_UP(i) (stopped[i] || inside[i])	/* a stop that is no threshold */
#else
#define GIVES_UP(i) (stopped[i] && !inside[i])
#endif

active proctype owner()
{
	byte r, i, w;

	atomic {
		owned[0] = 1;
		addr = 0;
		key = 1;
		i = 0;
		do
		:: i < INITIATORS -> run initiator(i); run signals(i); i++
		:: else -> break
		od
	}
	do
	:: r < ROUNDS ->
		r++;
		pending = 1;			/* dpa_mr_withdraw() */
#ifndef MUT_NOOWNFENCE
		!pending;			/* the fence */
#endif
#ifndef MUT_NOWAIT
		i = 0;
		do
		:: i < INITIATORS ->
			if
			:: atomic { hazard[i] -> w = turn[i] };
				(!hazard[i] || turn[i] != w || dead[i] || GIVES_UP(i))
			:: !hazard[i]
			fi;
			i++
		:: else -> break
		od;
#endif
		owned[addr] = 0;		/* the verb returns: the memory is another's */
		!pending;
		atomic {			/* registered anew, elsewhere */
			addr = 1 - addr;
			owned[addr] = 1
		};
		key = 1
	:: else -> break
	od
}
