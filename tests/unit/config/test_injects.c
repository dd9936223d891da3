/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Failures to inject, as text and back. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injects.h"

Test(injects, texts)
{
	static const struct {
		const char *text, *back;
	} good[] = {
		{"off", "off"},
		{"reg_mr=ENOMEM", "reg_mr=ENOMEM,n=1"},
		{"reg_mr=ENOMEM,n=3,above=1M", "reg_mr=ENOMEM,n=3,above=1048576"},
		{"create_qp_ex=EAGAIN", "create_qp=EAGAIN,n=1"},
		{"modify_qp=EINVAL,to=RTR,qpn=0x0700a3",
		 "modify_qp=EINVAL,n=1,to=RTR,qpn=0x0700a3"},
		{"post_send=ENOMEM,p=0.5%,times=4", "post_send=ENOMEM,p=5000ppm,times=4"},
		{"poll_cq=EIO,n=2,times=all", "poll_cq=EIO,n=2,times=all"},
		{"wc=RETRY_EXC_ERR,n=100,op=SEND+seed=7", "wc=RETRY_EXC_ERR,n=100,op=SEND+seed=7"},
		{"seed=7+wc=LOC_LEN_ERR,op=RECV", "wc=LOC_LEN_ERR,n=1,op=RECV+seed=7"},
		{"cq=overrun,qpn=77", "cq=overrun,n=1,qpn=0x00004d"},
		{"comp_event=lost,n=2", "comp_event=lost,n=2"},
		{"comp_event=late:1500us", "comp_event=late:1500us,n=1"},
		{"event=GID_CHANGE,after=2s", "event=GID_CHANGE,after=2s"},
		{"event=QP_FATAL,after=3ms", "event=QP_FATAL,n=1,after=3ms"},
		{"event=PORT_ERR:2s,after=1s", "event=PORT_ERR:2s,after=1s"},
		{"event=DEVICE_FATAL,n=3", "event=DEVICE_FATAL,n=3"},
		{"cm_event=UNREACHABLE,n=2,prog=rping", "cm_event=UNREACHABLE,n=2,prog=rping"},
		{"peer=slow:2ms,p=10%,op=RDMA_READ", "peer=slow:2ms,p=100000ppm,op=RDMA_READ"},
		{"peer=stopped,after=5s", "peer=stopped,after=5s"},
		{"peer=stopped:300ms,n=9,qpn=77", "peer=stopped:300ms,n=9,qpn=0x00004d"},
		{"peer=rnr,times=all", "peer=rnr,n=1,times=all"},
		{"peer=rnr:1s,n=4", "peer=rnr:1s,n=4"},
		{"mr=fault,above=1M,times=all", "mr=fault,n=1,times=all,above=1048576"},
		{"mr=fault:5s", "mr=fault:5s,n=1"},
		{"mr=slow:2ms,p=1%", "mr=slow:2ms,p=10000ppm"},
		{"progress=stolen:10ms", "progress=stolen:10ms,n=1"},
		{"eu=stolen:10ms,n=4", "eu=stolen:10ms,n=4"},
		{"dpa_thread=crash", "dpa_thread=crash,n=1"},
		{"sync_event=lost,n=2", "sync_event=lost,n=2"},
		{"dma=IO_FAILED", "dma=IO_FAILED,n=1"},
		{"rdma_connect=ECONNREFUSED,after=1ns", "rdma_connect=ECONNREFUSED,n=1,after=1ns"},
	};
	struct dpa_inject_spec s;
	char buf[DPA_INJECT_TEXT];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert(dpa_inject_parse(good[i].text, &s), "%s", good[i].text);
		dpa_inject_text(&s, buf, sizeof(buf));
		cr_expect_str_eq(buf, good[i].back);
		cr_assert(dpa_inject_parse(buf, &s), "%s", buf);
		dpa_inject_text(&s, buf, sizeof(buf));
		cr_expect_str_eq(buf, good[i].back, "its own text");
	}
}

/* The parser refuses each text, and leaves the caller's struct as it was. */
static void check_refused(const char *const *text, size_t n)
{
	struct dpa_inject_spec s, before;

	memset(&s, 0x5a, sizeof(s));
	before = s;
	for (size_t i = 0; i < n; i++) {
		cr_expect_not(dpa_inject_parse(text[i], &s), "%s", text[i]);
		cr_expect_eq(memcmp(&s, &before, sizeof(s)), 0, "%s", text[i]);
	}
}

Test(injects, bad_form)
{
	static const char *const bad[] = {
		"",
		"on",
		"off+off",
		"seed=7",
		"seed=7+seed=8+reg_mr=EIO",
		"reg_mr",
		"reg_mr=",
		"reg_mr=5",
		"reg_mr=enomem",
		"reg_mrr=ENOMEM",
		"=ENOMEM",
		"reg_mr=ENOMEM,",
		"reg_mr=ENOMEM+",
		"+reg_mr=ENOMEM",
		"reg_mr=ENOMEM,prog=",
		"reg_mr=ENOMEM,prog=a_name_that_is_too_long",
		"reg_mr=ENOMEM reg_mr=ENOMEM",
		"@/nowhere/at/all",
	};

	check_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

Test(injects, bad_options)
{
	static const char *const bad[] = {
		"reg_mr=ENOMEM,n",
		"reg_mr=ENOMEM,n=0",
		"reg_mr=ENOMEM,n=-1",
		"reg_mr=ENOMEM,n=4294967296",
		"reg_mr=ENOMEM,n=1,n=2",
		"reg_mr=ENOMEM,n=1,p=1%",
		"reg_mr=ENOMEM,p=0%",
		"reg_mr=ENOMEM,p=101%",
		"reg_mr=ENOMEM,times=0",
		"reg_mr=ENOMEM,after=0s",
		"reg_mr=ENOMEM,after=3601s",
		"reg_mr=ENOMEM,above=0",
		"reg_mr=ENOMEM,to=RTR",
		"reg_mr=ENOMEM,op=SEND",
		"reg_mr=ENOMEM,qpn=77",
		"create_qp=ENOMEM,above=1M",
		"modify_qp=EINVAL,to=rtr",
		"post_send=ENOMEM,qpn=1",
		"post_send=ENOMEM,qpn=0x1000000",
		"post_send=ENOMEM,qpn=0x",
	};

	check_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

Test(injects, bad_objects)
{
	static const char *const bad[] = {
		"wc=SUCCESS",
		"wc=WR_FLUSH_ERR",
		"wc=RETRY_EXC_ERR,op=RECV",
		"wc=RETRY_EXC_ERR:5ms",
		"comp_event=late",
		"comp_event=late:0s",
		"comp_event=lost:5ms",
		"comp_event=lost,qpn=77",
		"cm_event=ESTABLISHED",
		"cm_event=REJECTED,qpn=77",
		"peer=slow",
		"peer=slow:0s",
		"peer=stopped:0s",
		"peer=gone",
		"peer=rnr,op=RECV",
		"peer=slow:1ms,op=LOCAL_INV",
		"peer=rnr,above=1M",
		"mr=slow",
		"mr=fault,op=SEND",
		"eu=stolen",
		"dpa_thread=crash:1ms",
		"sync_event=lost,qpn=77",
	};

	check_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

Test(injects, at_most_sixteen)
{
	char text[DPA_INJECT_TEXT] = "open_device=EIO";
	struct dpa_inject_spec s;

	for (int i = 1; i < DPA_INJECT_RULES; i++)
		strcat(text, "+alloc_pd=EIO");
	cr_assert(dpa_inject_parse(text, &s));
	cr_expect_eq(s.num, DPA_INJECT_RULES);
	strcat(text, "+seed=9");
	cr_assert(dpa_inject_parse(text, &s));
	cr_expect_eq(s.seed, 9);
	strcat(text, "+alloc_pd=EIO");
	cr_expect_not(dpa_inject_parse(text, &s));
}

/* A text is cut where its buffer ends, and ends with 0. */
Test(injects, short_buffer)
{
	struct dpa_inject_spec s;
	char buf[16];

	cr_assert(dpa_inject_parse("reg_mr=ENOMEM,n=3+alloc_pd=EIO", &s));
	memset(buf, 'x', sizeof(buf));
	dpa_inject_text(&s, buf, 8);
	cr_expect_str_eq(buf, "reg_mr=");
	cr_expect_eq(buf[8], 'x');
}

Test(injects, scenario)
{
	char path[] = "/tmp/injects-XXXXXX", at[64], buf[DPA_INJECT_TEXT];
	static const char text[] = "# a scenario\n\n  reg_mr=ENOMEM,n=3   # the third\r\n"
				   "wc=REM_OP_ERR,n=5,prog=one\n\tseed=3\nevent=QP_FATAL,prog=two";
	int fd = mkstemp(path);
	struct dpa_inject_spec s;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	snprintf(at, sizeof(at), "@%s", path);
	cr_assert(dpa_inject_parse(at, &s));
	dpa_inject_text(&s, buf, sizeof(buf));
	cr_expect_str_eq(buf, "reg_mr=ENOMEM,n=3+wc=REM_OP_ERR,n=5,prog=one+"
			      "event=QP_FATAL,n=1,prog=two+seed=3");
	dpa_inject_keep(&s, "two");
	dpa_inject_text(&s, buf, sizeof(buf));
	cr_expect_str_eq(buf, "reg_mr=ENOMEM,n=3+event=QP_FATAL,n=1,prog=two+seed=3");
	cr_assert_eq(write(fd, "\nnonsense\n", 10), 10);
	cr_expect_not(dpa_inject_parse(at, &s), "a bad line");
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_expect_not(dpa_inject_parse(at, &s), "an empty file");
	close(fd);
	unlink(path);
}

/* Any bytes end in an answer: the seed makes a failure repeatable. */
Test(injects, garbage)
{
	static const char alphabet[] = "reg_mr=ENOMEM,n3+wcp%@seed0x#\n\t late:5s";
	struct dpa_inject_spec s;
	unsigned seed = 4711;
	char text[80], buf[DPA_INJECT_TEXT];

	for (int i = 0; i < 200000; i++) {
		size_t len = (size_t)rand_r(&seed) % (sizeof(text) - 1);

		for (size_t k = 0; k < len; k++)
			text[k] = alphabet[(size_t)rand_r(&seed) % (sizeof(alphabet) - 1)];
		text[len] = '\0';
		if (text[0] == '@' || !dpa_inject_parse(text, &s))
			continue;
		dpa_inject_text(&s, buf, sizeof(buf));
		cr_assert(dpa_inject_parse(buf, &s), "%s -> %s", text, buf);
	}
}

/* Every name is found at its own index, and stands once in the list. */
Test(injects, calls)
{
	for (int i = 0; dpa_inject_calls[i]; i++)
		cr_expect_eq(dpa_inject_call_index(dpa_inject_calls[i]), i, "%s",
			     dpa_inject_calls[i]);
	cr_expect_eq(dpa_inject_call_index("create_srq_ex"), dpa_inject_call_index("create_srq"));
	cr_expect_lt(dpa_inject_call_index("ibv_reg_mr"), 0);
	cr_expect_lt(dpa_inject_call_index(""), 0);
}
