/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rc.pml - one direction of a reliable connection: requester and responder of device/transport,
 * function by function, over a network that loses, duplicates and reorders. README.md says how the
 * names map to the code's and what is left out.
 *
 * Networks (one of them):
 *   NET_SET    every packet ever sent may arrive at any time, any number of times, or never: all of
 *              loss, duplication and reordering without bound; for safety.
 *   otherwise  CAP packets at most in each direction, in no order, lost and duplicated at will until
 *              `stopped`; for deadlock and progress.
 * Work (WORK): see the tables below. RETRY: retry_cnt, 0 is without end. KEPT: the responder may keep
 * what comes out of order, the requester may answer a NAK with the missing packet alone; whether
 * either does is free each time. Defects that must be found: MUT_NODUP, MUT_NOREPLAY, MUT_ACKREAD,
 * MUT_NOTIMER, MUT_FORGET; of KEPT: MUT_TWICE, MUT_ACKKEPT, MUT_NOFALLBACK.
 */
#ifndef CAP
#define CAP 2
#endif
#ifndef RETRY
#define RETRY 0
#endif
#ifndef WORK
#define WORK 1
#endif

/* ------------------------------------------------------------------- work */

#define SEND   0
#define WRITE  1
#define READ   2
#define ATOMIC 3

/* Packet a (0 to TOTAL - 1, counted from the first) belongs to message MSG(a). */
#if WORK == 1 /* SEND of 2 packets, atomic, READ of 2 packets */
#define N	3
#define TOTAL	5
#define KIND(i)	((i) == 0 -> SEND : ((i) == 1 -> ATOMIC : READ))
#define NP(i)	((i) == 1 -> 1 : 2)
#define FP(i)	((i) == 0 -> 0 : ((i) == 1 -> 2 : 3))
#define MSG(a)	((a) < 2 -> 0 : ((a) == 2 -> 1 : 2))
#define ATOMS	1
#elif WORK == 2 /* two atomics about a WRITE of 2 packets: results are saved and looked up */
#define N	3
#define TOTAL	4
#define KIND(i)	((i) == 1 -> WRITE : ATOMIC)
#define NP(i)	((i) == 1 -> 2 : 1)
#define FP(i)	((i) == 0 -> 0 : ((i) == 1 -> 1 : 3))
#define MSG(a)	((a) == 0 -> 0 : ((a) < 3 -> 1 : 2))
#define ATOMS	2
#elif WORK == 3 /* atomic, READ of 3 packets, SEND of 2: a READ that is asked for in parts */
#define N	3
#define TOTAL	6
#define KIND(i)	((i) == 0 -> ATOMIC : ((i) == 1 -> READ : SEND))
#define NP(i)	((i) == 0 -> 1 : ((i) == 1 -> 3 : 2))
#define FP(i)	((i) == 0 -> 0 : ((i) == 1 -> 1 : 4))
#define MSG(a)	((a) == 0 -> 0 : ((a) < 4 -> 1 : 2))
#define ATOMS	1
#elif WORK == 4 /* READ of 3 packets, atomic: the small one with a READ in parts */
#define N	2
#define TOTAL	4
#define KIND(i)	((i) == 0 -> READ : ATOMIC)
#define NP(i)	((i) == 0 -> 3 : 1)
#define FP(i)	((i) == 0 -> 0 : 3)
#define MSG(a)	((a) < 3 -> 0 : 1)
#define ATOMS	1
#else /* the small one: SEND of 2 packets, atomic */
#define N	2
#define TOTAL	3
#define KIND(i)	((i) == 0 -> SEND : ATOMIC)
#define NP(i)	((i) == 0 -> 2 : 1)
#define FP(i)	((i) == 0 -> 0 : 2)
#define MSG(a)	((a) < 2 -> 0 : 1)
#define ATOMS	1
#endif

#define IS_RD(i) (KIND(i) >= READ)
#define END(i)	 (FP(i) + NP(i))	/* one past its last packet */
/* A READ is asked for in chunks (DPA_READ_CHUNK); one past the last packet of that of packet a. */
#define CHUNK	 2
#define CHUNKS(i, from) (KIND(i) == ATOMIC -> 1 : (KIND(i) == READ -> \
		 (NP(i) - 1) / CHUNK - (from) / CHUNK + 1 : 0))	/* dpa_rd_requests() */
#define UPTO(a)	 (KIND(MSG(a)) == READ && FP(MSG(a)) + ((a) - FP(MSG(a))) / CHUNK * CHUNK + CHUNK < \
		 END(MSG(a)) -> FP(MSG(a)) + ((a) - FP(MSG(a))) / CHUNK * CHUNK + CHUNK : END(MSG(a)))

/* ------------------------------------------------- PSNs: opcode.h, 4 bits */

#define BASE	    13			/* so that they come round */
#define PSN(a)	    ((BASE + (a)) & 15)
#define D(a, b)	    (((a) - (b)) & 15)	/* dpa_psn_diff() */
#define LT(a, b)    (D(a, b) >= 8)
#define GT(a, b)    (D(a, b) > 0 && D(a, b) < 8)
#define PREV(p)	    (((p) + 15) & 15)
#define WINDOW	    8			/* half of the space, IBA 9.7.1 */
#define MAX_RD	    2			/* max_rd_atomic and max_dest_rd_atomic */
#define RD_OWED	    4			/* one half for requests, one for duplicates */

/* ---------------------------------------------------------------- network */

/* answers: what, and of which packet */
#define ACK	0
#define NAK	1			/* PSN sequence error */
#define RNR	2
#define RD_RESP 3
#define AT_RESP 4			/* + the value found: 4, 5 */
#define TYPES	(AT_RESP + ATOMS)

bool stopped;			/* the network does no harm any more, receives are posted */
#ifdef NET_SET
byte rq;			/* bit a: packet a was sent */
byte rs[TYPES];			/* the same of answers */
#define RQ_ROOM	     true
#define RS_ROOM	     true
#define RQ_PUT(a)    rq = rq | (1 << (a))
#define RS_PUT(t, a) rs[t] = rs[t] | (1 << (a))
#define RQ_HAS(a)    (rq & (1 << (a)))
#define RS_HAS(t, a) (rs[t] & (1 << (a)))
#define RQ_GET(a)    skip
#define RS_GET(t, a) skip
#define NET_EMPTY    false
#define LATE(n)	     skip
#if ATOMS == 2
#define RS_SOME	     (rs[0] | rs[1] | rs[2] | rs[3] | rs[4] | rs[5])
#else
#define RS_SOME	     (rs[0] | rs[1] | rs[2] | rs[3] | rs[4])
#endif
#define RQ_SOME	     rq
#else
byte rq[TOTAL], rqn;		/* how many of each are under way */
byte rs[TYPES * TOTAL], rsn;
#define RS_AT(t, a)  rs[(t) * TOTAL + (a)]
#define RQ_ROOM	     (rqn < CAP)
#define RS_ROOM	     (rsn < CAP)
#define RQ_PUT(a)    rq[a]++; rqn++
#define RS_PUT(t, a) RS_AT(t, a)++; rsn++
#define RQ_HAS(a)    rq[a]
#define RS_HAS(t, a) RS_AT(t, a)
#define RQ_GET(a)    rq[a]--; rqn--
#define RS_GET(t, a) RS_AT(t, a)--; rsn--
#define NET_EMPTY    (rqn == 0 && rsn == 0)
#define LATE(n)	     faulty = (faulty || (n) > 1) /* it may have overtaken another */
#define RS_SOME	     rsn
#define RQ_SOME	     rqn
#endif

/* -------------------------------------------------------- the two sides */

/* struct dpa_req */
byte send_idx, send_off, una_idx, read_off, rd_out;
byte send_psn = BASE, send_wqe_psn = BASE, una_psn = BASE, max_psn = BASE, acked_psn = BASE;
bool wait_timer, implied, err;
byte probing, probe_psn, probe_back, probe_end; /* 1: one packet asks, 2: it was sent */
bool probe_rd, probe_nak;
bool sel; /* of the step at hand: the peer is taken to keep what comes out of order */
#if RETRY
byte retry_left = RETRY;
#endif

/* struct dpa_resp */
byte epsn = BASE;
bool nak_sent, ack_owed, recv_posted, ackreq;
byte ack_kind, ack_psn;
byte rd_next[RD_OWED], rd_val[RD_OWED], nrd;	/* answers owed: next packet, value found */
bool rd_again[RD_OWED];
byte saved_psn[ATOMS], saved_val[ATOMS], nsaved;
#ifdef KEPT
byte kept;			/* bit a: packet a is kept, kept.c */
bool room, turn;		/* of the step at hand: there is room; it is one of those kept */
byte was;
#endif

/* what must come out */
byte delivered;			/* packets carried out */
byte mem;			/* the word that atomics add 1 to */
bool faulty;			/* the network did harm */

/* States of the sending side: enum dpa_req_state, device/send/req_state.h. */
#define UNA_PENDING GT(max_psn, una_psn)
#define SENDABLE    (!wait_timer && !err && send_idx < N && !blocked)
#define RD_OFF	    (KIND(send_idx) == READ && send_off == 0 && send_idx == una_idx -> read_off : send_off)
#define RD_FREE	    (rd_out < MAX_RD || (una_idx == send_idx && RD_OFF <= read_off))
#define RESUME	    (UNA_PENDING && IS_RD(una_idx) -> ((una_psn + read_off) & 15) : \
		     (GT(acked_psn, una_psn) -> acked_psn : una_psn))	/* resume_psn() */
#define blocked     ((IS_RD(send_idx) && !RD_FREE) || \
		     (send_off == 0 && D(send_wqe_psn, una_psn) + NP(send_idx) > WINDOW))
#define DPA_REQ_IDLE	(!err && !wait_timer && una_idx == N)
#define DPA_REQ_SENDING (SENDABLE && RQ_ROOM && una_idx < N)
#define DPA_REQ_PENDED	(SENDABLE && !RQ_ROOM && una_idx < N)
#define DPA_REQ_WAITING (!err && !wait_timer && una_idx < N && !SENDABLE)
#define DPA_REQ_TIMER	(!err && wait_timer)
#define DPA_REQ_ERR	err
#define ONE_STATE   ((DPA_REQ_IDLE -> 1 : 0) + (DPA_REQ_SENDING -> 1 : 0) + \
		     (DPA_REQ_PENDED -> 1 : 0) + (DPA_REQ_WAITING -> 1 : 0) + \
		     (DPA_REQ_TIMER -> 1 : 0) + (DPA_REQ_ERR -> 1 : 0) == 1)
#ifdef MUT_NOFALLBACK /* whoever sent the missing packet alone waits for its answer for ever */
#define GIVEN_UP    (probing != 2 || !probe_nak)
#else
#define GIVEN_UP    true
#endif
#define TIMER_MAY   (!stopped || (NET_EMPTY && nrd == 0 && !ack_owed && !SENDABLE))
#define done	    (una_idx == N)
#define over	    (done || err)

bool moved; /* `heard` of struct dpa_req */
byte i, first, n, m, p, qt, qa;	/* of the step at hand; 0 between steps */
#define FORGET i = 0; first = 0; n = 0; m = 0; p = 0; qt = 0; qa = 0; sel = false

/* forget_flight(): what is said of a probe counts while there is one */
#define QUIET	     probing = 0; probe_psn = 0; probe_back = 0; probe_end = 0; probe_rd = false; \
		     probe_nak = false

/* ----------------------------------------------- requester.c, completer.c */

/* dpa_loss_probed() */
inline probed() {
	probing = 2;
	probe_end = send_psn;
	n = probe_back;
	probe_back = GT(n, send_psn); /* all that probe_arrived() asks of it */
	if
	:: GT(n, send_psn) -> seek()
	:: else
	fi
}

/* send_data(), send_request() */
inline send_step() {
	if
	:: IS_RD(send_idx) ->
		i = FP(send_idx) + RD_OFF;
		if
		:: una_idx == send_idx && RD_OFF <= read_off -> rd_out = 0
		:: else
		fi;
		RQ_PUT(i);
		rd_out++;
		send_off = UPTO(i) - FP(send_idx);
		send_psn = (send_wqe_psn + send_off) & 15;
		if
		:: send_off == NP(send_idx) ->
			send_wqe_psn = send_psn;
			send_idx++;
			send_off = 0
		:: else
		fi
	:: else ->
		RQ_PUT(FP(send_idx) + send_off);
		send_psn = (send_psn + 1) & 15;
		send_off++;
		if
		:: send_off == NP(send_idx) ->
			send_idx++;
			send_off = 0;
			send_wqe_psn = send_psn
		:: else
		fi
	fi;
	if
	:: GT(send_psn, max_psn) -> max_psn = send_psn
	:: else
	fi;
	if
	:: probing == 1 -> probed()
	:: else
	fi;
	FORGET
}

inline progressed() {
	moved = true;
#if RETRY
	retry_left = RETRY
#endif
}

/* dpa_complete() with status OK; the promises to who posted */
inline complete() {
	assert(una_idx < N);
	assert(delivered >= END(una_idx));
	assert(KIND(una_idx) != READ || read_off == NP(una_idx));
	una_psn = (una_psn + NP(una_idx)) & 15;
	una_idx++;
	read_off = 0;
	if
	:: una_idx > send_idx ->
		send_idx = una_idx;
		send_off = 0;
		send_psn = una_psn;
		send_wqe_psn = una_psn
	:: else
	fi;
	progressed()
}

/* dpa_seek() */
inline seek() { /* to PSN n */
	i = una_idx;
	first = una_psn;
	m = 0;
	rd_out = 0;
	do
	:: GT(n, first) && !LT(n, ((first + NP(i)) & 15)) ->
		rd_out = rd_out + CHUNKS(i, (i == una_idx -> read_off : 0));
		first = (first + NP(i)) & 15;
		i++
	:: else -> break
	od;
	send_idx = i;
	send_wqe_psn = first;
	send_psn = n;
	send_off = D(n, first);
	m = (i == una_idx -> read_off : 0);
	if
	:: send_off > 0 && i < N && KIND(i) == READ && send_off <= m -> send_off = 0
	:: send_off > 0 && i < N && KIND(i) == READ && send_off > m ->
		rd_out = rd_out + CHUNKS(i, m) - CHUNKS(i, send_off)
	:: else
	fi
}

/* dpa_rewind() */
inline rewind(psn) {
	if
	:: LT(psn, send_psn) -> n = psn; seek()
	:: else
	fi
}

/* note_heard() */
inline heard(psn) {
	if
	:: GT(psn, acked_psn) -> acked_psn = psn; progressed()
	:: else
	fi
}

/* ack_advance() */
inline ack_advance(psn) {
	do
	:: UNA_PENDING && !LT(psn, PREV((una_psn + NP(una_idx)) & 15)) &&
#ifdef MUT_ACKREAD
	   KIND(una_idx) != ATOMIC ->
#else
	   !IS_RD(una_idx) ->
#endif
		complete()
	:: else -> break
	od
}

/* retransmit_one(): packet n alone, then sending goes on where it was, dpa_loss_probed() */
inline send_one(to_nak) {
	if
	:: probing != 1 -> probe_back = send_psn
	:: else
	fi;
	probe_psn = n;
	probe_nak = to_nak;
	probe_end = 0;
	probing = 1;
	seek();
	probe_rd = IS_RD(send_idx)
}

/* dpa_loss_nak(); what was sent again already is left alone */
inline loss_nak(psn) {
	if
#ifdef KEPT
	:: LT(psn, send_psn) && sel -> n = psn; send_one(true)
#endif
	:: LT(psn, send_psn) && !sel -> QUIET; n = psn; seek()
	:: else
	fi
}

/* A NAK of the sequence: on_nak() */
inline nak(psn) {
#if RETRY
	if
	:: retry_left == 0 -> err = true
	:: else -> retry_left--; loss_nak(psn)
	fi
#else
	loss_nak(psn)
#endif
}

/* loss.c: the local ACK timer, timed_out() */
inline timed_out() {
#if RETRY
	if
	:: retry_left == 0 -> err = true
	:: else -> retry_left--
	fi;
#endif
	QUIET;
	implied = false;
	n = RESUME;
	seek()
}

/* The probe is news, and behind it there is none although more had been sent before it. */
#define ALONE	     (RESUME == probe_end && probe_back)
#define MORE_COMES   (probe_rd && (LT(RESUME, probe_end) || (probe_nak && RESUME == probe_end)))

/* tlp_process_ack(): the rest was lost, too, or not kept; a peer that keeps names what else is missing */
inline probe_arrived() {
	if
	:: ALONE && !(probe_nak && sel) -> QUIET; n = RESUME; seek()
	:: else -> QUIET
	fi
}

/* tlp_send_probe(): before the local ACK timer one packet asks */
inline probe() {
	implied = false;
	if
	:: probing == 2 && probe_rd && ALONE && !(probe_nak && sel) -> QUIET; n = RESUME; seek()
	:: else -> n = RESUME; send_one(false)
	fi
}

/* dpa_loss_heard() */
inline loss_heard() {
	if
	:: probing == 2 && GT(RESUME, probe_psn) && !MORE_COMES -> probe_arrived()
	:: else
	fi;
	if
	:: GT(RESUME, send_psn) -> n = RESUME; seek()
	:: else
	fi;
	if
	:: moved -> moved = false; implied = false
	:: else
	fi
}

/* implied_nak(): an answer to what lies behind says that a READ's or atomic's own is lost. */
inline implied_nak() {
	if
	:: !implied ->
		implied = true;
		QUIET;
		rewind(((una_psn + read_off) & 15))
	:: else
	fi
}

/* dpa_completer_rx(): answer qt to packet qa */
inline answer_rx() {
	p = PSN(qa);
	if
	:: err || !LT(p, max_psn) || LT(p, una_psn)
	:: else ->
		if
		:: qt == ACK ->
			heard(((p + 1) & 15));
			ack_advance(p);
			if
			:: UNA_PENDING && !LT(p, una_psn) && IS_RD(una_idx) -> implied_nak()
			:: else
			fi
		:: qt == NAK ->
			heard(p);
			ack_advance(PREV(p));
			if
			:: UNA_PENDING -> nak(p)
			:: else
			fi
		:: qt == RNR ->
			heard(p);
			ack_advance(PREV(p));
			if
			:: UNA_PENDING && !wait_timer -> rewind(p); wait_timer = true
			:: else
			fi
		:: else -> /* answered_wqe(), read_response(), atomic_response() */
			ack_advance(PREV(p));
			if
			:: !UNA_PENDING
			:: UNA_PENDING && p == ((una_psn + read_off) & 15) && IS_RD(una_idx) &&
			   (KIND(una_idx) == READ) == (qt == RD_RESP) ->
				if
				:: qt == RD_RESP ->
					assert(qa == FP(una_idx) + read_off);
					read_off++;
					if
					:: rd_out > 0 && read_off < NP(una_idx) &&
					   read_off % CHUNK == 0 -> rd_out--
					:: else
					fi;
					progressed()
				:: else -> /* the value that it found when it was done once */
					assert(qt - AT_RESP == (una_idx == 0 || ATOMS == 1 -> 0 : 1))
				fi;
				if
				:: KIND(una_idx) == ATOMIC || read_off == NP(una_idx) ->
					rd_out = (rd_out > 0 -> rd_out - 1 : 0);
					complete();
#ifndef MUT_FORGET
					if /* finish_rd(): acknowledged before this came */
					:: GT(acked_psn, una_psn) -> ack_advance(PREV(acked_psn))
					:: else
					fi
#endif
				:: else
				fi
			:: UNA_PENDING && IS_RD(una_idx) && GT(p, ((una_psn + read_off) & 15)) ->
				implied_nak()
			:: else
			fi
		fi;
		loss_heard()
	fi;
	if
	:: wait_timer && !UNA_PENDING -> wait_timer = false
	:: else
	fi;
	assert(una_idx <= send_idx && send_idx <= N);
	assert(ONE_STATE);
	FORGET
}

/* ------------------------------------------- responder.c, resp_check.c */

/* owe() */
inline owe(k, psn) {
	if
	:: ack_owed && ack_kind != ACK
	:: else -> ack_owed = true; ack_kind = k; ack_psn = psn
	fi
}

/* rd_new(); what does not fit of duplicates is dropped */
inline rd_new(a, v, re) {
	n = 0;
	i = 0;
	do
	:: i < nrd -> n = n + (rd_again[i] == re -> 1 : 0); i++
	:: else -> break
	od;
	if
	:: n < MAX_RD ->
		rd_next[nrd] = a;
		rd_val[nrd] = v;
		rd_again[nrd] = re;
		nrd++
	:: else -> assert(re)
	fi
}

/* do_host_atomic() */
inline do_atomic() {
	mem++;
	assert(mem <= ATOMS)
}

/* nak_gap(), one_request() with dpa_keep() */
inline nak_gap() {
	if
	:: !nak_sent -> nak_sent = true; owe(NAK, epsn)
	:: else
	fi
}

/* gap_closed(): the missing packet is there before the NAK for it left */
inline gap_closed() {
	nak_sent = false;
	if
	:: ack_owed && ack_kind == NAK -> ack_kind = ACK; ack_psn = PREV(epsn)
	:: else
	fi
}

/* one_request(): packet qa */
inline one_request() {
	p = PSN(qa);
	m = MSG(qa);
	if
#ifdef MUT_NODUP
	:: !GT(p, epsn) -> /* DPA_RESP_GO */
#else
#ifdef MUT_TWICE
	:: p == epsn || (turn && LT(p, epsn)) ->
#else
	:: p == epsn -> /* DPA_RESP_GO */
#endif
#endif
		gap_closed();
		if
		:: KIND(m) == SEND && qa == FP(m) && !recv_posted ->
			nak_sent = true;
			owe(RNR, p)
		:: else ->
			assert(qa == delivered); /* in order, once; and never an invalid request */
			if
			:: KIND(m) == READ ->
				rd_new(qa, 0, false);
				epsn = (epsn + UPTO(qa) - qa) & 15;
				delivered = UPTO(qa)
			:: KIND(m) == ATOMIC ->
				rd_new(qa, mem, false);
				saved_psn[nsaved] = p;
				saved_val[nsaved] = mem;
				nsaved++;
				do_atomic();
				delivered++;
				epsn = (epsn + 1) & 15
			:: else ->
				delivered++;
				epsn = (epsn + 1) & 15;
				if
				:: delivered == END(m) || ackreq -> owe(ACK, PREV(epsn))
				:: else
				fi
			fi
		fi
#ifndef MUT_NODUP
#ifdef MUT_TWICE
	:: LT(p, epsn) && !turn ->
#else
	:: LT(p, epsn) -> /* DPA_RESP_DUPLICATE */
#endif
		if
		:: KIND(m) == READ -> rd_new(qa, 0, true)
		:: KIND(m) == ATOMIC -> /* replay_atomic() */
#ifdef MUT_NOREPLAY
			rd_new(qa, mem, true);
			do_atomic()
#else
			first = 0;
			do
			:: first < nsaved && saved_psn[first] != p -> first++
			:: else -> break
			od;
			if
			:: first < nsaved -> rd_new(qa, saved_val[first], true)
			:: else
			fi
#endif
		:: else -> owe(ACK, PREV(epsn))
		fi
#endif
	:: GT(p, epsn) -> /* DPA_RESP_GAP */
#ifdef KEPT
		if
		:: room -> kept = kept | (1 << qa)
		:: else
		fi;
#endif
#ifdef MUT_ACKKEPT
		owe(ACK, p)
#else
		nak_gap()
#endif
	fi
}

#ifdef KEPT
#define KEEPS(a)     (kept & (1 << (a)))
/* dpa_kept_next(): packet i; those that came otherwise meanwhile are dropped */
inline kept_next() {
#ifndef MUT_TWICE
	kept = (kept >> delivered) << delivered;
#endif
	i = 0;
	do
	:: i < TOTAL && !KEEPS(i) -> i++
	:: else -> break
	od
}
#endif

/* dpa_responder_rx(): packet qa, then those that were kept and whose turn it is */
inline request_rx() {
	one_request();
#ifdef KEPT
	turn = true;
	do
	:: kept && !nak_sent ->
		kept_next();
		if
		:: i < TOTAL && !GT(PSN(i), epsn) ->
			qa = i;
			was = epsn;
			one_request();
			if
			:: epsn == was -> break /* RNR: it comes again */
#ifdef MUT_TWICE
			:: else
#else
			:: else -> kept = kept & ~(1 << qa) /* dpa_kept_done() */
#endif
			fi
		:: else -> break
		fi
	:: else -> break
	od;
	if
	:: kept -> nak_gap() /* another one is missing */
	:: else
	fi;
	turn = false;
	was = 0;
	room = false;
#endif
	FORGET
}

/* dpa_responder_flush(), a packet at a time: responses in order, then the one ACK or NAK */
inline flush_step() {
	if
	:: nrd > 0 ->
		m = MSG(rd_next[0]);
		if
		:: KIND(m) == READ -> RS_PUT(RD_RESP, rd_next[0])
		:: else -> RS_PUT(AT_RESP + rd_val[0], rd_next[0])
		fi;
		i = UPTO(rd_next[0]);
		rd_next[0]++;
		if
		:: rd_next[0] == i ->
			nrd--;
			i = 0;
			do
			:: i < nrd ->
				rd_next[i] = rd_next[i + 1];
				rd_val[i] = rd_val[i + 1];
				rd_again[i] = rd_again[i + 1];
				i++
			:: else -> break
			od;
			rd_next[i] = 0;
			rd_val[i] = 0;
			rd_again[i] = false
		:: else
		fi
	:: else ->
		if
		:: LT(ack_psn, BASE) /* nothing came yet: says nothing */
		:: else -> RS_PUT(ack_kind, D(ack_psn, BASE))
		fi;
		ack_owed = false;
		ack_kind = 0;
		ack_psn = 0
	fi;
	FORGET
}

/* ------------------------------------------------------------- processes */

/* Any packet that is under way, into qa; of answers their kind into qt. */
#define PICK(a)	   :: RQ_HAS(a) -> qa = a
#define PICKR(t, a) :: RS_HAS(t, a) -> qt = t; qa = a
#if TOTAL == 3
#define PICKS	  PICK(0) PICK(1) PICK(2)
#define PICKRS(t) PICKR(t, 0) PICKR(t, 1) PICKR(t, 2)
#elif TOTAL == 4
#define PICKS	  PICK(0) PICK(1) PICK(2) PICK(3)
#define PICKRS(t) PICKR(t, 0) PICKR(t, 1) PICKR(t, 2) PICKR(t, 3)
#elif TOTAL == 5
#define PICKS	  PICK(0) PICK(1) PICK(2) PICK(3) PICK(4)
#define PICKRS(t) PICKR(t, 0) PICKR(t, 1) PICKR(t, 2) PICKR(t, 3) PICKR(t, 4)
#else
#define PICKS	  PICK(0) PICK(1) PICK(2) PICK(3) PICK(4) PICK(5)
#define PICKRS(t) PICKR(t, 0) PICKR(t, 1) PICKR(t, 2) PICKR(t, 3) PICKR(t, 4) PICKR(t, 5)
#endif
inline pick_request() {
	if
	PICKS
	fi
}
inline pick_answer() {
	if
	PICKRS(ACK)
	PICKRS(NAK)
	PICKRS(RNR)
	PICKRS(RD_RESP)
	PICKRS(AT_RESP)
#if ATOMS == 2
	PICKRS(5)
#endif
	fi
}

/* What the requester takes its peer for: `keeps` of struct dpa_req. */
inline guess() {
#ifdef KEPT
	if
	:: sel = true
	:: sel = false
	fi
#else
	skip
#endif
}

active proctype requester()
{
	do
	:: over -> break
	:: atomic { !over && SENDABLE && RQ_ROOM -> d_step { send_step(); assert(ONE_STATE) } }
	:: atomic { !over && wait_timer -> wait_timer = false } /* the RNR timer expires */
#ifndef MUT_NOTIMER
	/* the timers of loss.c: when nothing will come any more and, while there is harm, early */
	:: atomic { !over && !wait_timer && UNA_PENDING && TIMER_MAY && GIVEN_UP ->
			d_step { faulty = (faulty || !stopped); timed_out(); FORGET } }
	:: atomic { !over && !wait_timer && UNA_PENDING && TIMER_MAY && GIVEN_UP && probing != 1 ->
			guess();
			d_step { probe(); FORGET } }
#endif
	:: atomic { !over && RS_SOME ->
			pick_answer(); guess(); d_step { LATE(rsn); RS_GET(qt, qa); answer_rx() } }
	od;
	assert(err || delivered == TOTAL);
	assert(err || mem == ATOMS);
	assert(!err || faulty) /* what goes well does not fail */
}

active proctype responder()
{
end:	do
	:: atomic { RQ_SOME -> pick_request();
			if /* packets in the middle of a message ask for an ACK now and then */
			:: ackreq = true
			:: ackreq = false
			fi;
#ifdef KEPT
			if
			:: room = true
			:: room = false
			fi;
#endif
			d_step { LATE(rqn); RQ_GET(qa); request_rx(); ackreq = false } }
	:: atomic { (nrd > 0 || ack_owed) && RS_ROOM -> d_step { flush_step() } }
	od
}

/* Whoever posts receives, and the network's will. */
active proctype world()
{
	do
	:: atomic { !recv_posted -> recv_posted = true }
#ifdef NET_SET
	:: recv_posted -> break
#else
	:: atomic { !stopped && rqn > 0 -> pick_request();
			if
			:: d_step { RQ_GET(qa); faulty = true; qa = 0 }		/* lost */
			:: rqn < CAP -> d_step { RQ_PUT(qa); qa = 0 }		/* twice */
			fi }
	:: atomic { !stopped && rsn > 0 -> pick_answer();
			if
			:: d_step { RS_GET(qt, qa); faulty = true; qt = 0; qa = 0 }
			:: rsn < CAP -> d_step { RS_PUT(qt, qa); qt = 0; qa = 0 }
			fi }
	:: atomic { !stopped -> stopped = true; recv_posted = true; break }
#endif
	od
}

#ifndef NET_SET
/* When harm stops, everything completes. */
ltl progress { (<> stopped) -> (<> over) }
#endif
