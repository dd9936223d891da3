/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_gid.c - the GID queries of libibverbs, and device and port attributes. */
#include <criterion/criterion.h>
#include <unistd.h>
#include "dpa.h"
#include "fake_hw.h"

Test(gid, one_entry)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_gid_entry e;
	union ibv_gid gid, zero = {{0}};

	cr_assert_eq(ibv_query_gid(ctx, 1, 2, &gid), 0);
	cr_assert_eq(gid.raw[12], 127);
	cr_assert_eq(gid.raw[15], 3);
	cr_assert_eq(ibv_query_gid(ctx, 1, 1, &gid), 0, "an empty entry is no error");
	cr_assert_arr_eq(&gid, &zero, sizeof(gid));
	cr_assert_neq(ibv_query_gid(ctx, 1, DPA_MAX_GIDS, &gid), 0);
	cr_assert_neq(ibv_query_gid(ctx, 2, 0, &gid), 0);
	cr_assert_neq(ibv_query_gid(ctx, 1, -1, &gid), 0);

	cr_assert_eq(ibv_query_gid_ex(ctx, 1, 0, &e, 0), 0);
	cr_assert_eq(e.gid_type, IBV_GID_TYPE_ROCE_V2);
	cr_assert_eq(e.gid_index, 0);
	cr_assert_eq(e.port_num, 1);
	cr_assert_eq(e.ndev_ifindex, 5);
	cr_assert_eq(ibv_query_gid_ex(ctx, 1, 1, &e, 0), ENODATA);
	cr_assert_eq(ibv_query_gid_ex(ctx, 1, 0, &e, 1), EINVAL, "no flags exist");
	ibv_close_device(ctx);
}

Test(gid, the_table)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_gid_entry e[4];

	cr_assert_eq(ibv_query_gid_table(ctx, e, 4, 0), 2);
	cr_assert_eq(e[0].gid_index, 0);
	cr_assert_eq(e[1].gid_index, 2);
	cr_assert_eq(e[1].gid.raw[15], 3);
	cr_assert_eq(ibv_query_gid_table(ctx, e, 2, 0), 2);
	cr_assert_eq(ibv_query_gid_table(ctx, e, 1, 0), -EINVAL, "it does not fit");
	ibv_close_device(ctx);
}

Test(device, attributes_are_those_of_the_device)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_device_attr_ex a;
	struct ibv_query_device_ex_input in = {.comp_mask = 1};
	struct ibv_device_attr *o = &a.orig_attr;

	cr_assert_eq(dpa_query_device_ex(ctx, NULL, &a, sizeof(a)), 0);
	cr_assert_str_eq(o->fw_ver, "fake");
	cr_assert_eq(o->node_guid, 0x1122334455667788);
	cr_assert_eq(o->max_qp_wr, DPA_MAX_WR);
	cr_assert_eq(o->max_sge, DPA_MAX_SGE);
	cr_assert_eq(o->max_cqe, DPA_MAX_CQE);
	cr_assert_eq(o->max_ah, 3);
	cr_assert_eq(o->phys_port_cnt, 1);
	cr_assert_eq(a.phys_port_cnt_ex, 1);
	cr_assert_eq(dpa_query_device_ex(ctx, &in, &a, sizeof(a)), EINVAL);
	cr_assert_eq(dpa_query_device_ex(ctx, NULL, &a, sizeof(*o) - 1), EINVAL);
	ibv_close_device(ctx);
}

/* A program that was built with an older or newer header. */
Test(device, other_sizes_of_the_structure)
{
	struct ibv_context *ctx = fake_open();
	struct {
		struct ibv_device_attr_ex a;
		uint64_t more[4];
	} big;

	memset(&big, 0xee, sizeof(big));
	cr_assert_eq(dpa_query_device_ex(ctx, NULL, &big.a, sizeof(big.a.orig_attr)), 0);
	cr_assert_eq(big.a.comp_mask, 0xeeeeeeee, "nothing behind what was given");
	cr_assert_eq(dpa_query_device_ex(ctx, NULL, &big.a, sizeof(big)), 0);
	cr_assert_eq(big.more[0], 0);
	cr_assert_eq(big.more[3], 0);
	ibv_close_device(ctx);
}

Test(device, port)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_port_attr p = {0};

	cr_assert_eq(dpa_query_port(ctx, 1, &p), 0);
	cr_assert_eq(p.state, IBV_PORT_ACTIVE);
	cr_assert_eq(p.link_layer, IBV_LINK_LAYER_ETHERNET);
	cr_assert_eq(p.gid_tbl_len, DPA_MAX_GIDS);
	cr_assert_eq(p.pkey_tbl_len, 1);
	cr_assert_eq(p.max_msg_sz, 0x80000000);
	cr_assert_eq(dpa_query_port(ctx, 0, &p), EINVAL);
	cr_assert_eq(dpa_query_port(ctx, 2, &p), EINVAL);
	ibv_close_device(ctx);
}

Test(device, raw_clock)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	cr_assert_eq(dpa_query_rt_values(ctx, &v), 0);
	cr_assert(v.raw_clock.tv_sec || v.raw_clock.tv_nsec);
	v.comp_mask = 1 << 5;
	cr_assert_eq(dpa_query_rt_values(ctx, &v), EINVAL);
	ibv_close_device(ctx);
}

Test(ah, the_limit_is_in_the_log)
{
	char log[] = "/tmp/dpa-test-ah-XXXXXX", line[256] = "";
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1};
	int fd = mkstemp(log);
	struct ibv_context *ctx;
	struct ibv_ah *ah[3];
	struct ibv_pd *pd;

	cr_assert_geq(fd, 0);
	setenv("DPA_LOG_FILE", log, 1);
	ctx = fake_open();
	pd = ibv_alloc_pd(ctx);
	for (int i = 0; i < 3; i++)
		cr_assert(ah[i] = ibv_create_ah(pd, &a));
	cr_expect_eq(read(fd, line, sizeof(line) - 1), 0, "%s", line);
	cr_assert_null(ibv_create_ah(pd, &a));
	cr_expect_eq(errno, ENOMEM);
	cr_expect_gt(read(fd, line, sizeof(line) - 1), 0);
	cr_expect(strstr(line, "all 3 address handles"), "%s", line);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(ibv_destroy_ah(ah[i]), 0);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	close(fd);
	unlink(log);
}

Test(ah, only_a_global_route_of_a_known_gid)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1};
	struct ibv_ah *ah[3];

	for (int i = 0; i < 3; i++)
		cr_assert(ah[i] = ibv_create_ah(pd, &a));
	cr_assert_null(ibv_create_ah(pd, &a), "the fake's limit is 3");
	cr_assert_eq(errno, ENOMEM);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(ibv_destroy_ah(ah[i]), 0);
	a.is_global = 0;
	cr_assert_null(ibv_create_ah(pd, &a));
	cr_assert_eq(errno, EINVAL);
	a.is_global = 1;
	a.port_num = 2;
	cr_assert_null(ibv_create_ah(pd, &a));
	a.port_num = 1;
	a.grh.sgid_index = 1;
	cr_assert_null(ibv_create_ah(pd, &a), "an empty GID");
	cr_assert_eq(errno, EINVAL);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

Test(ah, by_lid_on_an_infiniband_port_only)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_ah_attr a = {.dlid = 2, .sl = 3, .port_num = 1}, back;
	struct ibv_port_attr p = {0};
	struct ibv_ah *ah;

	cr_expect_null(ibv_create_ah(pd, &a), "an Ethernet port");
	cr_expect_eq(errno, EINVAL);
	fake_lid = 4;
	ah = ibv_create_ah(pd, &a);
	cr_assert(ah, "%m");
	dpa_av_to_attr(&to_dpa_ah(ah)->av, &back);
	cr_expect(!back.is_global && back.dlid == 2 && back.sl == 3);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	a.dlid = 0;
	cr_expect_null(ibv_create_ah(pd, &a), "LID 0 is reserved");
	cr_expect_eq(errno, EINVAL);
	cr_assert_eq(dpa_query_port(ctx, 1, &p), 0);
	cr_expect(p.lid == 4 && p.sm_lid == 1 && p.link_layer == IBV_LINK_LAYER_INFINIBAND);
	cr_expect_eq(p.flags & IBV_QPF_GRH_REQUIRED, 0);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}
