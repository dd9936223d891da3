/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * meter.c - the words of meter.h. Figures of a slot are whole if `seq` is even and did not change: a
 * seqlock with one writer. The words behind the odd number are stored with release, and loaded with
 * acquire, so that no fence is needed.
 */
#include <time.h>
#include "board/board_layout.h"
#include "meter/meter.h"

#define PSN_BITS 24
#define PSN_MASK 0xffffffu
#define NO_LIMIT 0xffffu

static uint16_t meter_at_most(uint64_t n, uint16_t most)
{
	return n < most ? (uint16_t)n : most;
}

void dpa_meter_put(struct dpa_slot_meter *to, const struct dpa_meter *m)
{
	/* odd also after a predecessor that died in the middle */
	const uint16_t odd = (uint16_t)(__atomic_load_n(&to->seq, __ATOMIC_RELAXED) | 1u);
	const uint16_t window =
		m->window == UINT64_MAX ? NO_LIMIT : meter_at_most(m->window >> 10, NO_LIMIT - 1);

	__atomic_store_n(&to->seq, odd, __ATOMIC_RELAXED);
	__atomic_store_n(&to->rnr, (uint16_t)m->rnr, __ATOMIC_RELEASE);
	__atomic_store_n(&to->again, m->again, __ATOMIC_RELEASE);
	__atomic_store_n(&to->tx_msgs, m->tx_msgs, __ATOMIC_RELEASE);
	__atomic_store_n(&to->rx_msgs, m->rx_msgs, __ATOMIC_RELEASE);
	__atomic_store_n(&to->tx_bytes, m->tx_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&to->rx_bytes, m->rx_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&to->send, (m->send_psn & PSN_MASK) | (uint32_t)m->wait << PSN_BITS,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&to->una, (m->una_psn & PSN_MASK) | (uint32_t)m->status << PSN_BITS,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&to->epsn, (m->epsn & PSN_MASK) | (uint32_t)m->vendor_err << PSN_BITS,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&to->queued, meter_at_most(m->queued, UINT16_MAX), __ATOMIC_RELEASE);
	__atomic_store_n(&to->window, window, __ATOMIC_RELEASE);
	__atomic_store_n(&to->seq, (uint16_t)(odd + 1), __ATOMIC_RELEASE);
}

bool dpa_meter_get(const struct dpa_slot_meter *from, struct dpa_meter *m)
{
	const uint16_t seq = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);
	const uint32_t send = __atomic_load_n(&from->send, __ATOMIC_ACQUIRE);
	const uint32_t una = __atomic_load_n(&from->una, __ATOMIC_ACQUIRE);
	const uint32_t epsn = __atomic_load_n(&from->epsn, __ATOMIC_ACQUIRE);
	const uint16_t window = __atomic_load_n(&from->window, __ATOMIC_ACQUIRE);

	*m = (struct dpa_meter){
		.rnr = __atomic_load_n(&from->rnr, __ATOMIC_ACQUIRE),
		.again = __atomic_load_n(&from->again, __ATOMIC_ACQUIRE),
		.tx_msgs = __atomic_load_n(&from->tx_msgs, __ATOMIC_ACQUIRE),
		.rx_msgs = __atomic_load_n(&from->rx_msgs, __ATOMIC_ACQUIRE),
		.tx_bytes = __atomic_load_n(&from->tx_bytes, __ATOMIC_ACQUIRE),
		.rx_bytes = __atomic_load_n(&from->rx_bytes, __ATOMIC_ACQUIRE),
		.queued = __atomic_load_n(&from->queued, __ATOMIC_ACQUIRE),
		.send_psn = send & PSN_MASK,
		.una_psn = una & PSN_MASK,
		.epsn = epsn & PSN_MASK,
		.wait = (uint8_t)(send >> PSN_BITS),
		.status = (uint8_t)(una >> PSN_BITS),
		.vendor_err = (uint8_t)(epsn >> PSN_BITS),
		.window = window == NO_LIMIT ? UINT64_MAX : (uint64_t)window << 10,
	};
	return !(seq & 1) && __atomic_load_n(&from->seq, __ATOMIC_RELAXED) == seq;
}

/* Bits 0..9 busy, 10 asleep, 11..18 number, 19..29 QPs; 11 and 12 waiter and polls if `own`. */
#define THERE (1u << 31)
#define OWN   (1u << 30)

uint32_t dpa_meter_pack(const struct dpa_meter_thread *t)
{
	uint32_t w = meter_at_most(t->busy, 1000) | (uint32_t)t->asleep << 10;

	if (!t->there)
		return 0;
	if (t->waiter || t->polls)
		return THERE | OWN | w | (uint32_t)t->waiter << 11 | (uint32_t)t->polls << 12;
	return THERE | w | (t->number & 0xff) << 11 | (uint32_t)meter_at_most(t->qps, 2047) << 19;
}

struct dpa_meter_thread dpa_meter_unpack(uint32_t w)
{
	struct dpa_meter_thread t = {.there = w & THERE};

	if (!t.there)
		return t;
	t.busy = w & 0x3ff;
	t.asleep = w >> 10 & 1;
	if (w & OWN) {
		t.waiter = w >> 11 & 1;
		t.polls = w >> 12 & 1;
	} else {
		t.number = w >> 11 & 0xff;
		t.qps = w >> 19 & 0x7ff;
	}
	return t;
}

static uint64_t cpu_of(pthread_t thread)
{
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint32_t dpa_meter_busy(pthread_t thread, uint64_t *before, uint64_t ns)
{
	const uint64_t cpu = cpu_of(thread), used = *before && cpu > *before ? cpu - *before : 0;

	*before = cpu;
	return ns ? (uint32_t)(used * 1000 / ns) : 0;
}

bool dpa_meter_wanted(struct dpa_board *b, uint64_t now)
{
	const uint64_t until =
		atomic_load_explicit(&b->shm->head.meter_until, memory_order_relaxed);

	return until > now && until - now <= DPA_METER_FARTHER;
}

void dpa_meter_want(struct dpa_board *b, uint64_t now)
{
	_Atomic uint64_t *word = &b->shm->head.meter_until;
	uint64_t until = atomic_load_explicit(word, memory_order_relaxed);

	while ((until < now + DPA_METER_LEASE || until - now > DPA_METER_FARTHER) &&
	       !atomic_compare_exchange_weak_explicit(word, &until, now + DPA_METER_LEASE,
						      memory_order_relaxed, memory_order_relaxed))
		;
}
