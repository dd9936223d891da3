/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_scenario.c - scenarios as text. */
#include <criterion/criterion.h>
#include <string.h>
#include "sim/sim.h"

static struct dpa_sim_scenario s;
static char err[256];

Test(scenario, all_keys)
{
	cr_assert(dpa_sim_parse("# a comment\n\n"
				"link = rate=10G,delay=5us,queue=1M,ecn=40K:200K:1%,pfc,seed=7\r\n"
				" time=2s # another\n"
				"sample = 500us\n"
				"host\t=\t40G\n"
				"mtu = 4096\n"
				"flow = count=3,start=1ms,step=2ms,stop=100ms,message=1M,depth=2\n"
				"flow = every=50us,algorithm=none\n"
				"flow = algorithm=rtt",
				&s, err, sizeof(err)),
		  "%s", err);
	cr_expect_eq(s.link.rate, 10000000000u);
	cr_expect_eq(s.link.delay, 5000u);
	cr_expect(s.link.pfc);
	cr_expect_eq(s.seed, 7u);
	cr_expect_eq(s.time, 2000000000u);
	cr_expect_eq(s.sample, 500000u);
	cr_expect_eq(s.host, 40000000000u);
	cr_expect_eq(s.mtu, 4096u);
	cr_assert_eq(s.n, 5u);
	cr_expect_eq(s.flow[0].start, 1000000u);
	cr_expect_eq(s.flow[2].start, 5000000u);
	cr_expect_eq(s.flow[2].stop, 100000000u);
	cr_expect_eq(s.flow[2].message, 1u << 20);
	cr_expect_eq(s.flow[2].depth, 2u);
	cr_expect_eq(s.flow[2].algo, 0u);
	cr_expect_eq(s.flow[3].every, 50000u);
	cr_expect_eq(s.flow[3].start, 0u);
	cr_expect_eq(s.flow[3].stop, DPA_SIM_FOREVER);
	cr_expect_eq(s.flow[3].algo, 1u);
	cr_expect_str_eq(dpa_sim_algo(s.flow[0].algo), "dcqcn");
	cr_expect_str_eq(dpa_sim_algo(s.flow[4].algo), "rtt");
}

Test(scenario, defaults)
{
	cr_assert(dpa_sim_parse("link=rate=1G\nflow=start=0", &s, err, sizeof(err)), "%s", err);
	cr_expect_eq(s.time, 100000000u);
	cr_expect_eq(s.sample, 100000u);
	cr_expect_eq(s.host, 0u);
	cr_expect_eq(s.mtu, 1024u);
	cr_expect_eq(s.flow[0].message, 65536u);
}

Test(scenario, mistakes_have_their_line)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "no link"},
		{"link = rate=1G", "no flow"},
		{"flow = count=2", "no link"},
		{"link", "line 1: 'link': use key = value"},
		{"\nlink = delay=5us", "line 2: link 'delay=5us'"},
		{"link = rate=1G+peer=192.0.2.1,rate=1G", "one rule"},
		{"link = rate=1G\nlimk = x", "line 2: unknown key 'limk'"},
		{"time = 5", "time '5'"},
		{"time = 100000s", "time '100000s'"},
		{"sample = 0us", "sample"},
		{"host = fast", "host 'fast'"},
		{"mtu = 1000", "mtu '1000'"},
		{"mtu = 8192", "mtu"},
		{"flow = count=0", "flow 'count'"},
		{"flow = count=129", "flow 'count'"},
		{"flow = count=128\nflow = count=1", "line 2: more than 128 flows"},
		{"flow = message=0", "flow 'message'"},
		{"flow = message=2000M", "flow 'message'"},
		{"flow = depth=5000", "flow 'depth'"},
		{"flow = algorithm=cubic", "flow 'algorithm'"},
		{"flow = begin=5ms", "flow 'begin'"},
		{"flow = count", "flow 'count'"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_not(dpa_sim_parse(bad[i].text, &s, err, sizeof(err)), "%s", bad[i].text);
		cr_expect(strstr(err, bad[i].says), "%s: %s", bad[i].text, err);
	}
}

Test(scenario, a_line_that_is_too_long)
{
	char text[700];

	memset(text, '#', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect_not(dpa_sim_parse(text, &s, err, sizeof(err)));
	cr_expect(strstr(err, "longer than 511"), "%s", err);
}
