/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_links.c - the network in front of a port, from text and back. */
#include <criterion/criterion.h>
#include <string.h>

#include "links.h"

Test(links, texts)
{
	static const struct {
		const char *text, *back;
	} good[] = {
		{"off", "off"},
		{"delay=5us", "delay=5us"},
		{"delay=1000us", "delay=1ms"},
		{"rate=10G", "rate=10G,queue=256K"},
		{"rate=2.5G", "rate=2500M,queue=256K"},
		{"rate=1", "rate=1,queue=256K"},
		{"rate=10G,delay=5us,queue=256K,ecn=40K:200K:1%,pfc,seed=7",
		 "rate=10G,delay=5us,queue=256K,ecn=40K:200K:1%,pfc,seed=7"},
		{"pfc,seed=1,ecn=0:8K:0.5%,queue=8192,rate=1000K",
		 "rate=1M,queue=8K,ecn=0:8K:5000ppm,pfc,seed=1"},
		{"delay=1ms+peer=192.0.2.7,rate=1G,delay=10us",
		 "peer=192.0.2.7,rate=1G,delay=10us,queue=256K+delay=1ms"},
		{"peer=2001:db8::7,delay=7ns+peer=192.0.2.7,delay=1s",
		 "peer=2001:db8::7,delay=7ns+peer=192.0.2.7,delay=1s"},
	};
	static const char *const bad[] = {
		"",
		"on",
		"rate",
		"rate=",
		"rate=0",
		"rate=1.5",
		"rate=2000G",
		"rate=18446744073709551616",
		"rate=10g",
		"rate=10G,",
		",rate=10G",
		"rate=10G rate=1G",
		"rate=10G,rate=10G",
		"rate=10G,queue=1K",
		"rate=10G,queue=65M",
		"rate=10G,ecn=40K:200K",
		"rate=10G,ecn=200K:40K:1%",
		"rate=10G,ecn=0:0:1%",
		"rate=10G,ecn=40K:257K:1%",
		"rate=10G,ecn=40K:200K:101%",
		"rate=10G,pfc=1",
		"delay=5",
		"delay=0us",
		"delay=1001ms",
		"delay=5us,pfc",
		"delay=5us,queue=64K",
		"delay=5us,ecn=1K:2K:1%",
		"seed=7",
		"pfc",
		"off,rate=10G",
		"delay=5us+delay=6us",
		"peer=192.0.2.7,delay=5us+peer=192.0.2.7,delay=6us",
		"peer=192.0.2,delay=5us",
		"peer=,delay=5us",
		"delay=5us+",
		"delay=5us,seed=1+peer=192.0.2.7,delay=1us,seed=2",
		("peer=192.0.2.1,delay=1us+peer=192.0.2.2,delay=1us+peer=192.0.2.3,delay=1us+"
		 "peer=192.0.2.4,delay=1us+delay=1us"),
	};
	struct dpa_link_spec l = {0}, again = {0};
	char text[2 * DPA_LINK_TEXT];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert(dpa_link_parse(good[i].text, &l), "%s", good[i].text);
		dpa_link_text(&l, text, sizeof(text));
		cr_expect_str_eq(text, good[i].back);
		cr_assert(dpa_link_parse(text, &again), "%s", text);
		cr_expect_eq(l.n, again.n);
		cr_expect_arr_eq(l.rule, again.rule, sizeof(l.rule), "%s", text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dpa_link_spec was = l;

		cr_expect_not(dpa_link_parse(bad[i], &l), "%s", bad[i]);
		cr_expect_arr_eq(&l, &was, sizeof(l));
	}
}

Test(links, port_rule_is_last)
{
	struct dpa_link_spec l;

	cr_assert(dpa_link_parse("rate=1G+peer=192.0.2.7,delay=5us+peer=192.0.2.8,delay=6us", &l));
	cr_expect_eq(l.n, 3u);
	cr_expect(l.rule[0].has_peer && l.rule[1].has_peer && !l.rule[2].has_peer);
	cr_expect_eq(l.rule[0].peer[15], 7);
	cr_expect_eq(l.rule[2].rate, 1000000000u);
	cr_expect_eq(l.rule[2].queue, DPA_LINK_QUEUE);
}

Test(links, unset_is_no_text)
{
	struct dpa_link_spec l = {0};
	char text[DPA_LINK_TEXT];

	dpa_link_text(&l, text, sizeof(text));
	cr_expect_str_eq(text, "");
}
