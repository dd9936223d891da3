/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which calls, completions and events the rules select. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dpa_hw_format.h>
#include "inject/inject.h"
#include "inject/query.h"
#include "inject/wc.h"
#include "util/clock.h"
#include "util/lock.h"

static void use(const char *text)
{
	struct dpa_inject_spec s;

	cr_assert(dpa_inject_parse(text, &s), "%s", text);
	dpa_inject_set(&s);
}

static int call(const char *name)
{
	const struct dpa_hw_call c = {.name = name, .to = DPA_INJECT_ANY};

	return dpa_hw_inject_call(&c);
}

/* The numbers of the calls that fail, from 1 on, as text. */
static const char *failing(const char *name, int calls)
{
	static char text[512];
	size_t at = 0;

	text[0] = '\0';
	for (int i = 1; i <= calls; i++)
		if (call(name))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%d", at ? " " : "",
					       i);
	return text;
}

Test(inject, by_number)
{
	use("alloc_pd=ENOMEM,n=3");
	cr_expect(dpa_hw_injecting(DPA_INJECT_CALL));
	cr_expect_not(dpa_hw_injecting(DPA_INJECT_WC));
	cr_expect_str_eq(failing("alloc_pd", 10), "3");
	use("alloc_pd=ENOMEM,n=3,times=2");
	cr_expect_str_eq(failing("alloc_pd", 10), "3 4");
	use("alloc_pd=ENOMEM,n=8,times=all");
	cr_expect_str_eq(failing("alloc_pd", 10), "8 9 10");
	use("alloc_pd=ENOMEM");
	cr_expect_str_eq(failing("reg_mr", 10), "");
	cr_expect_str_eq(failing("alloc_pd", 10), "1", "calls of another verb do not count");
	use("off");
	cr_expect_eq(atomic_load(&dpa_hw_injects), 0);
}

Test(inject, by_chance)
{
	char first[512];
	int n = 0;

	use("poll_cq=EIO,p=10%+seed=7");
	strcpy(first, failing("poll_cq", 100));
	cr_expect_neq(first[0], '\0');
	use("poll_cq=EIO,p=10%+seed=7");
	cr_expect_str_eq(failing("poll_cq", 100), first, "the same seed");
	use("poll_cq=EIO,p=10%+seed=8");
	cr_expect_str_neq(failing("poll_cq", 100), first);
	use("poll_cq=EIO,p=10%,times=3+seed=7");
	for (int i = 0; i < 1000; i++)
		n += call("poll_cq") != 0;
	cr_expect_eq(n, 3);
	use("poll_cq=EIO,p=100%");
	cr_expect_str_eq(failing("poll_cq", 3), "1 2 3");
	use("poll_cq=EIO,p=20%");
	n = 0;
	for (int i = 0; i < 10000; i++)
		n += call("poll_cq") != 0;
	cr_expect(n > 1700 && n < 2300, "%d", n);
}

/* Both rules count; the first one that selects a call gives its errno. */
Test(inject, several_rules)
{
	use("alloc_pd=ENOMEM,n=2+alloc_pd=EIO,n=2,times=2");
	cr_expect_eq(call("alloc_pd"), 0);
	cr_expect_eq(call("alloc_pd"), ENOMEM);
	cr_expect_eq(call("alloc_pd"), EIO);
	cr_expect_eq(call("alloc_pd"), EIO, "the second rule has failed one only");
	cr_expect_eq(call("alloc_pd"), 0);
}

Test(inject, where)
{
	struct dpa_hw_call c = {.name = "reg_mr", .size = 4096, .to = DPA_INJECT_ANY};

	use("reg_mr=ENOMEM,above=4K+modify_qp=EINVAL,to=RTR,qpn=77");
	cr_expect_eq(dpa_hw_inject_call(&c), 0);
	c.size++;
	cr_expect_eq(dpa_hw_inject_call(&c), ENOMEM);
	c = (struct dpa_hw_call){.name = "modify_qp", .qpn = 77, .to = 1};
	cr_expect_eq(dpa_hw_inject_call(&c), 0, "INIT");
	c.to = 2;
	c.qpn = 78;
	cr_expect_eq(dpa_hw_inject_call(&c), 0, "another QP");
	c.qpn = 77;
	cr_expect_eq(dpa_hw_inject_call(&c), EINVAL);
}

/* The setting is used once; a program name selects rules. */
Test(inject, setting)
{
	struct dpa_inject_spec s;

	cr_assert(dpa_inject_parse("alloc_pd=EIO,prog=another+dealloc_pd=EBUSY", &s));
	dpa_hw_inject_begin(&s, NULL);
	cr_expect_eq(call("alloc_pd"), 0);
	dpa_hw_inject_begin(&s, NULL);
	cr_expect_eq(call("dealloc_pd"), EBUSY);
	dpa_hw_inject_begin(&s, NULL);
	cr_expect_eq(call("dealloc_pd"), 0, "a second opening does not count from 0");
	s.set = false;
	dpa_inject_get(&s);
	cr_expect_eq(s.num, 1);
	dpa_inject_forked();
	cr_expect_eq(atomic_load(&dpa_hw_injects), 0);
}

/* Each of the first calls has a line, and so has the one that fails. */
Test(inject, recorded_calls)
{
	struct dpa_inject_spec s = {0};
	char path[] = "/tmp/inject-calls.XXXXXX", text[256] = "", want[256];
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert(dpa_inject_parse("alloc_pd=EIO,n=2", &s));
	dpa_hw_inject_record(path);
	dpa_hw_inject_begin(&s, NULL);
	cr_expect_eq(call("alloc_pd"), 0);
	cr_expect_eq(call("alloc_pd"), EIO);
	for (uint32_t i = 0; i < 2 * DPA_HW_INJECT_RECORDED; i++)
		call("poll_cq");
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	snprintf(want, sizeof(want),
		 "call alloc_pd 1 %d %s\ncall alloc_pd 2 %d %s\nfailed alloc_pd 2 %d %s\n",
		 getpid(), program_invocation_short_name, getpid(), program_invocation_short_name,
		 getpid(), program_invocation_short_name);
	cr_expect_eq(strncmp(text, want, strlen(want)), 0, "%s", text);
	lseek(fd, 0, SEEK_SET);
	uint32_t lines = 0;

	for (char c; read(fd, &c, 1) == 1;)
		lines += c == '\n';
	cr_expect_eq(lines, 3 + DPA_HW_INJECT_RECORDED);
	close(fd);
	unlink(path);
}

Test(inject, completions)
{
	const struct dpa_inject_cqe send = {.qpn = 77, .opcode = 0},
				    recv = {.qpn = 77, .opcode = 128};
	uint64_t ns = 0;

	use("wc=RETRY_EXC_ERR,n=2+cq=overrun,op=RECV+event=QP_FATAL,n=2,qpn=77");
	cr_expect_eq(dpa_inject_wc(&recv), 0, "a receive has no such status, and does not count");
	cr_expect_eq(dpa_inject_wc(&send), 0);
	cr_expect_eq(dpa_inject_wc(&recv), 0);
	cr_expect_eq(dpa_inject_wc(&send), 12);
	cr_expect_not(dpa_inject_overrun(&send));
	cr_expect(dpa_inject_overrun(&recv));
	cr_expect_eq(dpa_inject_event(&send, &ns), -1);
	cr_expect_eq(dpa_inject_event(&send, &ns), 1);
	cr_expect_eq(dpa_inject_comp(&ns), 0);
	use("comp_event=late:3ms,n=2");
	cr_expect_eq(dpa_inject_comp(&ns), 0);
	cr_expect_eq(dpa_inject_comp(&ns), DPA_INJECT_LATE);
	cr_expect_eq(ns, 3000000);
	cr_expect_eq(dpa_inject_wc(&send), 0);
}

/* Every status of a rule is one that the device can end a WQE with. */
Test(inject, statuses)
{
	struct dpa_inject_spec s;
	char text[64];

	for (int status = 1; status < 24; status++) {
		static const char *const names[24] = {
			[1] = "LOC_LEN_ERR",	[2] = "LOC_QP_OP_ERR",	 [4] = "LOC_PROT_ERR",
			[6] = "MW_BIND_ERR",	[9] = "REM_INV_REQ_ERR", [10] = "REM_ACCESS_ERR",
			[11] = "REM_OP_ERR",	[12] = "RETRY_EXC_ERR",	 [13] = "RNR_RETRY_EXC_ERR",
			[16] = "REM_ABORT_ERR", [19] = "FATAL_ERR",	 [21] = "GENERAL_ERR",
		};

		cr_expect_eq(dpa_inject_send_end(status).status != 0, names[status] != NULL, "%d",
			     status);
		if (!names[status])
			continue;
		snprintf(text, sizeof(text), "wc=%s", names[status]);
		cr_assert(dpa_inject_parse(text, &s), "%s", text);
		cr_expect_eq(s.rule[0].effect, status);
		snprintf(text, sizeof(text), "wc=%s,op=RECV", names[status]);
		cr_expect_eq(dpa_inject_parse(text, &s), dpa_inject_recv_end(status) != 0, "%s",
			     text);
	}
}

Test(inject, at_a_time)
{
	uint64_t now = dpa_now_ns(), ns = 0, due;

	use("event=GID_CHANGE,after=10s");
	due = dpa_inject_due();
	cr_expect(due >= now + 10000000000u && due < now + 20000000000u);
	cr_expect_eq(dpa_inject_timed(due - 1, &ns), -1);
	cr_expect_eq(dpa_inject_timed(due, &ns), 18);
	cr_expect_eq(dpa_inject_timed(due, &ns), -1, "once");
	cr_expect_eq(dpa_inject_due(), UINT64_MAX);
}

static char reported[256];
static void keep_report(void *arg, const char *line, const struct dpa_inject_query *q)
{
	cr_expect(q);
	cr_expect_eq(arg, reported);
	snprintf(reported, sizeof(reported), "%s", line);
}

static void keep_line(int level, const char *line)
{
	cr_expect_eq(level, DPA_LOG_WARN);
	snprintf(reported, sizeof(reported), "%s", line);
}

/* Calls fail before the device is open, too. */
Test(inject, log_without_the_device)
{
	struct dpa_inject_spec s;

	cr_assert(dpa_inject_parse("rdma_create_id=EIO,times=all", &s));
	dpa_hw_inject_begin(&s, keep_line);
	cr_expect_eq(call("rdma_create_id"), EIO);
	cr_expect_str_eq(reported, "injected: rdma_create_id=EIO, number 1");
	dpa_hw_inject_begin(&s, NULL); /* as the device does, which reports from then on */
	dpa_inject_bind(keep_report, reported);
	cr_expect_eq(call("rdma_create_id"), EIO);
	dpa_inject_unbind();
	cr_expect_eq(call("rdma_create_id"), EIO);
	cr_expect_str_eq(reported, "injected: rdma_create_id=EIO, number 3");
}

Test(inject, what_is_shown)
{
	struct dpa_inject_count counts[DPA_INJECT_RULES] = {0};
	const struct dpa_inject_cqe c = {.qpn = 0x1234};

	dpa_inject_bind(keep_report, reported);
	dpa_inject_show(counts);
	use("wc=REM_OP_ERR,n=2");
	for (int i = 0; i < 5; i++)
		dpa_inject_wc(&c);
	cr_expect_eq(atomic_load(&counts[0].seen), 5);
	cr_expect_eq(atomic_load(&counts[0].fired), 1);
	cr_expect_str_eq(reported, "injected: wc=REM_OP_ERR, number 2 at QP 0x001234");
	use("alloc_pd=EIO,times=20");
	cr_expect_eq(atomic_load(&counts[0].seen), 0, "new rules count from 0");
	for (int i = 0; i < 20; i++)
		call("alloc_pd");
	cr_expect_str_eq(reported, "injected: alloc_pd=EIO, number 20");
	dpa_inject_unbind();
	use("alloc_pd=EIO");
	call("alloc_pd");
	cr_expect_eq(atomic_load(&counts[0].seen), 20, "nobody shows them any more");
}

static uint32_t early_ones;
static void take_early(void *arg, const char *line, const struct dpa_inject_query *q)
{
	const uint64_t number = 13 + early_ones++;
	char want[96];

	snprintf(want, sizeof(want), "injected: rdma_create_id=EIO, number %llu",
		 (unsigned long long)number);
	cr_expect_str_eq(line, want);
	cr_expect(q->early && q->rule);
	cr_expect_eq(q->number, number);
	cr_expect_eq(q->rule->effect, EIO);
}

/* The rules that made them may be gone. */
Test(inject, the_last_failures_before_the_device_is_open)
{
	use("rdma_create_id=EIO,times=20");
	for (int i = 0; i < 20; i++)
		call("rdma_create_id");
	use("off");
	dpa_inject_bind(take_early, NULL);
	cr_expect_eq(early_ones, 8u);
	dpa_inject_unbind();
	dpa_inject_bind(take_early, NULL);
	cr_expect_eq(early_ones, 8u, "once");
	dpa_inject_unbind();
}

static void *many_calls(void *arg)
{
	int *failed = arg;

	for (int i = 0; i < 20000; i++)
		*failed += call("alloc_pd") != 0;
	return NULL;
}

/* Of all threads together exactly those numbers fail. */
Test(inject, threads)
{
	int failed[4] = {0}, sum = 0;
	pthread_t t[4];

	use("alloc_pd=EIO,n=1000,times=500");
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, many_calls, &failed[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		sum += failed[i];
	}
	cr_expect_eq(sum, 500);
}

/* The numbers of the requests that find no receive, from 1 on, as bits. */
static unsigned refused(uint32_t qpn, int requests)
{
	const struct dpa_inject_cqe c = {.qpn = qpn, .opcode = 0};
	unsigned bits = 0;

	for (int i = 1; i <= requests; i++)
		bits |= (unsigned)dpa_inject_rnr(&c) << i;
	return bits;
}

Test(inject, peers)
{
	const struct dpa_inject_cqe read = {.qpn = 5, .opcode = 2}, send = {.qpn = 5};
	_Atomic bool stopped = false;
	uint64_t ns = 0;

	use("peer=rnr,n=3,times=2,qpn=5");
	cr_expect_eq(refused(6, 5), 0, "another QP");
	cr_expect_eq(refused(5, 6), 1u << 3 | 1u << 4);
	use("peer=rnr:1s,n=3");
	cr_expect_eq(refused(5, 6), 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6, "it lasts");
	use("peer=slow:2ms,op=RDMA_READ");
	cr_expect_eq(dpa_inject_slow(&send), 0);
	cr_expect_not(dpa_inject_rnr(&read), "another effect does not count");
	cr_expect_not(dpa_inject_stops(&read, &stopped));
	cr_expect_eq(dpa_inject_slow(&read), 2000000);
	use("peer=stopped:5ms,n=2");
	cr_expect_not(dpa_inject_stops(&send, &stopped));
	cr_expect_eq(dpa_inject_raised(&ns), -1);
	cr_expect(dpa_inject_stops(&read, &stopped));
	cr_expect_eq(dpa_inject_raised(&ns), DPA_INJECT_STOPPED);
	cr_expect_eq(ns, 5000000);
	use("peer=stopped,after=1ns");
	cr_expect_not(dpa_inject_stops(&send, &stopped), "at its time, not at a request");
	cr_expect_eq(dpa_inject_timed(dpa_now_ns(), &ns), DPA_INJECT_STOPPED);
	cr_expect_eq(dpa_inject_due(), UINT64_MAX);
}

/* A device that stops, and a port that is down, are never forgotten; rules that go take theirs with them. */
Test(inject, events_that_wait)
{
	const struct dpa_inject_cqe send = {.qpn = 5};
	_Atomic bool stopped = false;
	uint32_t others = 0;
	uint64_t ns = 0;
	int type;

	use("peer=stopped:5ms,times=2+peer=stopped:3ms,n=3,times=100");
	for (int i = 0; i < 100; i++)
		dpa_inject_raise(DPA_EVENT_GID_CHANGE, 0);
	for (int i = 0; i < 50; i++)
		cr_expect(dpa_inject_stops(&send, &stopped));
	cr_expect(stopped);
	dpa_inject_raise(DPA_EVENT_PORT_ERR, 7);
	dpa_inject_raise(DPA_EVENT_PORT_ERR, 0);
	while ((type = dpa_inject_raised(&ns)) == DPA_EVENT_GID_CHANGE)
		others++;
	cr_expect_eq(others, 16);
	cr_expect_eq(type, DPA_INJECT_STOPPED);
	cr_expect_eq(ns, 5000000, "the longer time");
	cr_expect_eq(dpa_inject_raised(&ns), DPA_EVENT_PORT_ERR);
	cr_expect_eq(ns, 0, "until the rules change");
	cr_expect_eq(dpa_inject_raised(&ns), -1, "once");
	cr_expect(dpa_inject_stops(&send, &stopped));
	use("off");
	cr_expect_eq(dpa_inject_raised(&ns), -1, "its rule is gone");
}

#define MOST 64u

Test(inject, regions)
{
	cr_expect_not(dpa_inject_region(3, MOST, 4096), "no rules");
	use("mr=fault,n=2+mr=slow:2ms,above=1M");
	cr_expect_not(dpa_inject_region(3, MOST, 4096), "the first one");
	cr_expect(dpa_inject_region(4, MOST, 4096));
	cr_expect(dpa_inject_region_faults(4));
	cr_expect_eq(dpa_inject_region_slow(4), 0);
	cr_expect_not(dpa_inject_region_faults(3));
	cr_expect(dpa_inject_region(5, MOST, 2u << 20));
	cr_expect_eq(dpa_inject_region_slow(5), 2000000);
	cr_expect_not(dpa_inject_region_faults(5));
	cr_expect_not(dpa_inject_region(4, MOST, 4096), "the entry of another region now");
	cr_expect_not(dpa_inject_region_faults(4));
	use("mr=fault:3600s");
	cr_expect(dpa_inject_region(6, MOST, 4096));
	cr_expect_not(dpa_inject_region_faults(6), "later");
}

Test(inject, points)
{
	uint64_t ns = 0;

	cr_expect_not(dpa_inject_ops.point(DPA_HW_INJECT_EU, &ns));
	use("eu=stolen:3ms,n=2+dpa_thread=crash+sync_event=lost,n=3+dma=IO_FAILED,p=100%");
	cr_expect(atomic_load(dpa_inject_ops.gate) >> DPA_HW_INJECT_SYNC & 1);
	cr_expect_not(dpa_inject_ops.point(DPA_HW_INJECT_EU, &ns));
	cr_expect(dpa_inject_ops.point(DPA_HW_INJECT_EU, &ns));
	cr_expect_eq(ns, 3000000);
	cr_expect(dpa_inject_ops.point(DPA_HW_INJECT_DPA, &ns));
	cr_expect_not(dpa_inject_ops.point(DPA_HW_INJECT_SYNC, &ns));
	cr_expect(dpa_inject_ops.point(DPA_HW_INJECT_DMA, &ns));
	cr_expect(dpa_inject_ops.point(DPA_HW_INJECT_DMA, &ns));
	cr_expect_not(dpa_inject_point(DPA_INJECT_PROGRESS, &ns), "no rule");
}
