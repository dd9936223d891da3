/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ask.pml - a requester on a link that loses nothing, which asks whether all was looked at
 * (device/transport/ask.c): OPS operations of one packet each, two rings that keep the order and may
 * be full. For each copy of the packet that it expects the responder may carry it out, refuse it with
 * a NAK that has the requester send again (PULL_REFUSED), answer in a way that changes nothing, pass
 * it over with a hint, or pass it over. It may stop at any time, for any time. README.md says what is
 * checked.
 *
 * Defects that must be found: MUT_EARLY, MUT_STALE, MUT_NOWATCHDOG.
 */
#ifndef OPS
#define OPS 3
#endif
#ifndef RETRY
#define RETRY 1
#endif
#ifndef ROOM
#define ROOM 2
#endif

mtype = { PKT, ASK, ACK, NAK, NOTHING, HINT, LOOKED };

chan fwd = [ROOM] of { mtype, byte };
chan back = [ROOM] of { mtype, byte };

/* the requester */
byte una, nxt, top, serial, ask_psn, retry = RETRY;
bit asked, due, timer, failed;

/* the responder */
byte epsn, ack, naks = 1;
bit owed, owed_nak, told, hint_due;
byte looked;		/* serial of the ASK whose LOOKED is owed; 0: none */

byte inring[OPS + 1];	/* copies of a packet that were not looked at yet */

#define OVER	    (una == OPS || failed)
#define OUTSTANDING (top > una)

/* sending starts again at una */
inline rewind()
{
	nxt = una;
#ifndef MUT_STALE
	asked = 0
#endif
}

inline ask_for()
{
	if
	:: OUTSTANDING -> due = 1
	:: else
	fi
}

/* dpa_req_lost() */
inline lost()
{
	/* what is given up was looked at, all copies of it, and was not carried out */
	assert(epsn <= una && !inring[una]);
	if
	:: retry == 0 -> failed = 1
	:: else ->
		retry--;
		rewind();
		due = 1;
		timer = 1
	fi
}

inline answer_rx(k, n)
{
	if
	:: k == ACK && n >= una && n < top ->
		una = n + 1;
		retry = RETRY;
		timer = timer && OUTSTANDING;
		if
		:: nxt < una -> nxt = una
		:: else
		fi
	:: k == NAK && n == una && OUTSTANDING && !timer -> rewind(); ask_for()
	:: k == NOTHING || k == HINT -> ask_for()
	:: k == LOOKED && asked && n == serial ->
		asked = 0;
		if
		:: !timer && OUTSTANDING && una < nxt && una < ask_psn -> lost()
		:: else
		fi
	:: else
	fi
}

active proctype requester()
{
	mtype k;
	byte n;

	do
	:: d_step { !OVER && !timer && nxt < OPS && len(fwd) < ROOM ->
		fwd!PKT(nxt);
		inring[nxt]++;
		nxt++;
		top = (nxt > top -> nxt : top)
	   }
	:: d_step { !OVER && due && !OUTSTANDING -> due = 0; asked = 0 }
	:: d_step { !OVER && due && OUTSTANDING && !asked && !timer && una < nxt && len(fwd) < ROOM ->
		serial++;
		fwd!ASK(serial);
		due = 0;
		asked = 1;
		ask_psn = nxt
	   }
	:: d_step { len(back) > 0 -> back?k(n);
		if
		:: OVER -> skip
		:: else -> answer_rx(k, n)
		fi
	   }
	:: d_step { !OVER && timer -> timer = 0 }
#ifndef MUT_NOWATCHDOG
	/* it has taken all, so have we, and nothing moves; no LOOKED is under way (serial) */
	:: d_step { !OVER && !timer && OUTSTANDING && nxt == OPS && len(fwd) == 0 && len(back) == 0 &&
		!looked ->
		rewind();
		asked = 0;
		due = 1;
		serial = 0
	   }
#endif
	:: OVER && len(fwd) == 0 && len(back) == 0 -> break
	od
}

inline take(n)
{
	inring[n]--;
	if
	:: n == epsn ->
		if
		:: epsn++; ack = epsn; owed = 1; told = 0
		:: naks > 0 -> naks--; owed_nak = 1
		:: len(back) < ROOM -> back!NOTHING(0)
		:: hint_due = 1
		:: skip
		fi
	:: n < epsn -> ack = epsn; owed = 1
	:: else -> /* a gap: told once, of no use here; then a hint */
		if
		:: told -> hint_due = 1
		:: !told && len(back) < ROOM -> told = 1; back!NOTHING(0)
		:: else
		fi
	fi
}

active proctype responder()
{
	mtype k;
	byte n;

end_resp: do
	:: d_step { owed_nak && len(back) < ROOM -> back!NAK(epsn); owed_nak = 0 }
	:: d_step { owed && len(back) < ROOM -> back!ACK(ack - 1); owed = 0 }
	:: atomic { fwd?[PKT, _] -> fwd?k(n); take(n) }
	:: d_step { fwd?[ASK, _] -> fwd?k(n); looked = n }
	:: d_step { hint_due && len(back) < ROOM -> back!HINT(0); hint_due = 0 }
#ifdef MUT_EARLY
	:: d_step { looked && len(back) < ROOM -> back!LOOKED(looked); looked = 0 }
#else
	:: d_step { looked && !owed && !owed_nak && len(back) < ROOM ->
		back!LOOKED(looked);
		looked = 0
	   }
#endif
	od
}
