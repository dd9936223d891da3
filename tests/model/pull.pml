/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pull.pml - a message that its receiver fetches and its sender brings pieces of
 * (device/payload/pull.c): a receiver that moves MESSAGES one after the other, each into memory
 * of its own, in PIECES; HELPERS threads of the sender's. README.md says what is checked.
 *
 * A store is seen by others late (a store buffer of one store each), unless a fence comes: of the
 * receiver `open = 0`, of a helper its hazard. A helper is stopped, goes on and is killed outside
 * the system call; in it, these wait for its end.
 *
 * Defects that must be found: MUT_NOWAIT, MUT_NOSEQ, MUT_NOFENCE, MUT_NOCLOSE, MUT_DONE,
 * MUT_STOPPED.
 */
#ifndef HELPERS
#define HELPERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define PIECES 2
#define NONE   255

/* the words of a job: serial 0 is none */
byte open;
byte to;	/* which message's memory */
byte turn_serial, turn;
byte done[PIECES];
bit pending;	/* open = 0 is in the receiver's store buffer */

byte serial;	/* the receiver's */
bit ended[MESSAGES + 1];		/* the application has it: nobody may touch it */
bit moved[(MESSAGES + 1) * PIECES];	/* what is there */

bit hazard[HELPERS], unseen[HELPERS], stopped[HELPERS], dead[HELPERS], inside[HELPERS];

#define AT(m, k) ((m) * PIECES + (k))
#define RUNS(i)	 (!stopped[i] && !dead[i])

active proctype memory()
{
end:	do
	:: d_step { pending -> open = 0; pending = 0 }
	:: d_step { unseen[0] -> hazard[0] = 1; unseen[0] = 0 }
#if HELPERS > 1
	:: d_step { unseen[1] -> hazard[1] = 1; unseen[1] = 0 }
#endif
	od
}

proctype signals(byte i)
{
end:	do
	:: atomic { !inside[i] && RUNS(i) -> stopped[i] = 1 }
	:: atomic { !inside[i] && !dead[i] -> dead[i] = 1 }
	:: atomic { stopped[i] && !dead[i] -> stopped[i] = 0 }
	od
}

proctype helper(byte i)
{
	byte s, m, k;

	{
end:	do
	:: atomic { RUNS(i) && open -> unseen[i] = 1 }
#ifndef MUT_NOFENCE
		(RUNS(i) && !unseen[i]);
#endif
		atomic { RUNS(i) -> s = open };
		atomic { RUNS(i) -> m = to };
		/* the CAS: what was read is of this serial, or it fails */
		atomic { RUNS(i) ->
			if
			:: s && turn_serial == s && turn < PIECES -> k = turn; turn++
			:: else -> k = NONE
			fi };
		if
		:: atomic { RUNS(i) && k == NONE -> goto leave }
		:: RUNS(i) && k != NONE
		fi;
		/* the look and the system call are one restartable sequence */
#ifdef MUT_NOSEQ
		if
		:: atomic { RUNS(i) && open != s -> goto leave }
		:: RUNS(i) && open == s
		fi;
		atomic { RUNS(i) -> inside[i] = 1 };
#else
		if
		:: atomic { RUNS(i) && open != s -> goto leave }
		:: atomic { RUNS(i) && open == s -> inside[i] = 1 }
		fi;
#endif
		atomic { assert(!ended[m]); moved[AT(m, k)] = 1 };
		inside[i] = 0;
		atomic { RUNS(i) -> done[k] = s };
leave:		atomic { RUNS(i) -> hazard[i] = 0; unseen[i] = 0; s = 0; m = 0; k = 0 }
	od
	} unless { dead[i] }
}

/* at work here, as far as the receiver can see */
#ifdef MUT_STOPPED	/* a stop in the system call is no end */
#define HARMS(i) (hazard[i] && RUNS(i) && !inside[i])
#else
#define HARMS(i) (hazard[i] && RUNS(i))
#endif

active proctype receiver()
{
	byte k, mine, w;

	do
	:: serial < MESSAGES ->
		/* the store buffer is in order: what was closed is closed first */
		atomic { !pending -> serial++; turn_serial = serial; turn = 0 };
		to = serial;
		open = serial;
		mine = 0;
		/* pieces, as the helpers take them */
		do
		:: atomic { turn < PIECES -> k = turn; turn++; mine = mine | (1 << k) };
			moved[AT(serial, k)] = 1
		:: turn >= PIECES -> break
		od;
#ifdef MUT_NOCLOSE
		skip;
#else
		pending = 1;
		!pending;	/* the fence */
#endif
		w = 0;
		do
		:: w < PIECES && (mine & (1 << w)) -> w++
		:: w < PIECES && !(mine & (1 << w)) ->
#ifndef MUT_NOWAIT
			if
#ifdef MUT_DONE
			:: done[w]
#else
			:: done[w] == serial
#endif
#if HELPERS > 1
			:: atomic { !HARMS(0) && !HARMS(1) ->
#else
			:: atomic { !HARMS(0) ->
#endif
				if
				:: done[w] == serial
				:: else -> moved[AT(serial, w)] = 1
				fi }
			fi;
#else
			if
			:: done[w] == serial
			:: else -> moved[AT(serial, w)] = 1
			fi;
#endif
			w++
		:: w == PIECES -> break
		od;
		atomic {
			k = 0;
			do
			:: k < PIECES -> assert(moved[AT(serial, k)]); k++
			:: else -> break
			od;
			ended[serial] = 1;
			k = 0 }
	:: else -> break
	od
}

init
{
	atomic {
		run helper(0);
		run signals(0);
#if HELPERS > 1
		run helper(1);
		run signals(1);
#endif
	}
}
