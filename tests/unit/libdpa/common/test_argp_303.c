/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_argp_303.c - types of values of 3.3: devices, representors, numbers with a fraction; and
 * lenient files.
 */
#define DPA_DOCA_API 303
#include "argp_rig.h"
#include <doca_dev.h>
#include "tests/unit/libdpa/fake.h"

#define PF "d9a0:00:00.0"
#define SF "d9a0:00:00.1"

static struct doca_argp_device_rep_ctx got; /* arguments of the last callback */
static int opened;			    /* calls of the program's callback */
static struct doca_devinfo *last_opened;

static doca_error_t on_device(void *param, void *config)
{
	got.dev_ctx = *(struct doca_argp_device_ctx *)param;
	return keep(config, "device ");
}

static doca_error_t on_rep(void *param, void *config)
{
	got = *(struct doca_argp_device_rep_ctx *)param;
	return keep(config, "rep ");
}

static doca_error_t on_double(void *param, void *config)
{
	char text[100];

	snprintf(text, sizeof(text), "d:%g ", *(double *)param);
	return keep(config, text);
}

static doca_error_t open_it(struct doca_devinfo *devinfo, void *usr_ctx, struct doca_dev **dev)
{
	cr_assert_eq(usr_ctx, &opened);
	opened++;
	last_opened = devinfo;
	return doca_dev_open(devinfo, dev);
}

static doca_error_t open_none(struct doca_devinfo *devinfo, void *usr_ctx, struct doca_dev **dev)
{
	return DOCA_ERROR_NOT_PERMITTED;
}

static void add_303(const char *name, const char *long_name, enum doca_argp_type type,
		    doca_argp_param_cb_t cb)
{
	struct doca_argp_param *p;

	OK(doca_argp_param_create(&p));
	doca_argp_param_set_short_name(p, name);
	doca_argp_param_set_long_name(p, long_name);
	doca_argp_param_set_description(p, "What it is");
	doca_argp_param_set_callback(p, cb);
	doca_argp_param_set_type(p, type);
	doca_argp_param_set_multiplicity(p);
	OK(doca_argp_register_param(p));
}

/* Make a parser with one parameter of each type. */
static void begin_303(void)
{
	memset(&got, 0, sizeof(got));
	opened = 0;
	begin();
	add_303("a", "device", DOCA_ARGP_TYPE_DEVICE, on_device);
	add_303("r", "rep", DOCA_ARGP_TYPE_DEVICE_REP, on_rep);
	add_303("x", "factor", DOCA_ARGP_TYPE_DOUBLE, on_double);
	add_303("n", "number", DOCA_ARGP_TYPE_INT, on_int);
	add_303("b", "flag", DOCA_ARGP_TYPE_BOOLEAN, on_bool);
}

static void end_303(void)
{
	OK(doca_argp_destroy());
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(argp_303, .timeout = 60);

Test(argp_303, device)
{
	struct doca_dev *first;
	char addr[DOCA_DEVINFO_PCI_ADDR_SIZE];

	begin_303();
	OK(start("-a pci/" PF ",dv_flow_en=2,more --device pci/" SF));
	cr_assert_str_eq(conf.calls, "device device ");
	cr_assert_null(got.dev_ctx.devargs);
	OK(doca_devinfo_get_pci_addr_str(doca_dev_as_devinfo(got.dev_ctx.dev), addr));
	cr_assert_str_eq(addr, SF);
	OK(doca_dev_close(got.dev_ctx.dev));
	OK(doca_argp_destroy());
	begin_303();
	OK(start("-a pci/" PF ",dv_flow_en=2,more"));
	/* valid until the parser's end */
	cr_assert_str_eq(got.dev_ctx.devargs, "dv_flow_en=2,more");
	first = got.dev_ctx.dev;
	OK(doca_argp_destroy());
	begin_303();
	OK(start("-a=pci/" PF ",")); /* the same device: one more reference */
	cr_assert_eq(got.dev_ctx.dev, first);
	cr_assert_null(got.dev_ctx.devargs);
	while (fake_opens())
		OK(doca_dev_close(first));
	end_303();
}

Test(argp_303, representor)
{
	char addr[DOCA_DEVINFO_REP_PCI_ADDR_SIZE];

	begin_303();
	OK(start("-r pci/" PF ",pf0sf1,arg=1"));
	cr_assert_str_eq(conf.calls, "rep ");
	cr_assert_str_eq(got.dev_ctx.devargs, "arg=1");
	OK(doca_devinfo_rep_get_pci_addr_str(doca_dev_rep_as_devinfo(got.dev_rep), addr));
	cr_assert_str_eq(addr, SF);
	OK(doca_dev_rep_close(got.dev_rep));
	OK(doca_dev_close(got.dev_ctx.dev));
	end_303();
	begin_303();
	OK(start("-r pci/" PF ",sf1"));
	cr_assert_null(got.dev_ctx.devargs);
	OK(doca_dev_rep_close(got.dev_rep));
	OK(doca_dev_close(got.dev_ctx.dev));
	end_303();
}

/* No device stays open, and no callback was called. */
Test(argp_303, refused)
{
	static const char *const lines[] = {
		"-a " PF,
		"-a pci/",
		"-a pci/zz",
		"-a pci/d9a0:00:00.7",
		"-a netdev/eth0",
		"-r pci/" PF,
		"-r pci/" PF ",",
		"-r pci/" PF ",pf0sf2",
		"-r pci/" PF ",pf0vf0",
		"-r pci/" PF ",pf1",
		"-r pci/" PF ",sf0",
		"-r pci/" PF ",sf1x",
		"-r pci/" SF ",sf1",
		"-x",
		"-x a",
		"-x 1.5b",
		"-x 1e999",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		begin_303();
		cr_expect_eq(start(lines[i]), DOCA_ERROR_INVALID_VALUE, "%s", lines[i]);
		cr_expect_str_eq(conf.calls, "", "%s", lines[i]);
		end_303();
	}
}

Test(argp_303, opened_by_the_program)
{
	begin_303();
	OK(doca_argp_register_dev_open_callback(open_it, &opened));
	OK(start("-a pci/" PF));
	cr_assert_eq(opened, 1);
	cr_assert_not_null(last_opened);
	IS(doca_argp_register_dev_open_callback(open_it, &opened), BAD_STATE); /* started */
	OK(doca_dev_close(got.dev_ctx.dev));
	end_303();
	begin_303();
	IS(doca_argp_register_dev_open_callback(NULL, &opened), INVALID_VALUE);
	OK(doca_argp_register_dev_open_callback(open_none, NULL));
	IS(start("-a pci/" PF), NOT_PERMITTED);
	end_303();
	IS(doca_argp_register_dev_open_callback(open_it, NULL), BAD_STATE); /* not initialised */
}

Test(argp_303, numbers)
{
	begin_303();
	OK(start("-x 1.5 -x -2 --factor=1e3 -n 4 -b"));
	cr_assert_str_eq(conf.calls, "d:1.5 d:-2 d:1000 i:4 true ");
	end_303();
}

/*
 * A type that a version does not have is invalid: 4 is a JSON object in 2.10, 7 does not exist in
 * 3.3.
 */
Test(argp_303, unknown_types)
{
	struct doca_argp_param *p;

	begin();
	for (int type = -1; type <= 7; type += 8) {
		OK(doca_argp_param_create(&p));
		doca_argp_param_set_short_name(p, "q");
		doca_argp_param_set_description(p, "What it is");
		doca_argp_param_set_callback(p, on_int);
		doca_argp_param_set_type_303(p, (enum doca_argp_type)type);
		IS(doca_argp_register_param(p), INITIALIZATION);
	}
	doca_argp_param_set_type_303(NULL, DOCA_ARGP_TYPE_INT); /* ignored */
	OK(doca_argp_destroy());
}

static doca_error_t start_file(const char *json, bool lenient)
{
	char path[] = "/tmp/test_argp_XXXXXX", line[200];
	doca_error_t ret;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
	close(fd);
	begin_303();
	if (lenient)
		OK(doca_argp_disable_pedantic_config_parsing());
	snprintf(line, sizeof(line), "-j %s", path);
	ret = start(line);
	if (lenient)
		IS(doca_argp_disable_pedantic_config_parsing(), BAD_STATE); /* started */
	OK(doca_argp_destroy());
	unlink(path);
	return ret;
}

Test(argp_303, files)
{
	static const char more[] =
		"{\"other\": 1, \"doca_program_flags\": {\"what\": [], \"number\": 3}}";

	OK(start_file("{\"doca_program_flags\": {\"device\": \"pci/" PF
		      ",a\", \"factor\": [0.5, 2]}}",
		      false));
	cr_assert_str_eq(conf.calls, "device d:0.5 d:2 ");
	OK(doca_dev_close(got.dev_ctx.dev));
	IS(start_file("{\"doca_program_flags\": {\"device\": 3}}", false), INVALID_VALUE);
	IS(start_file("{\"doca_program_flags\": {\"device\": \"eth0\"}}", false), INVALID_VALUE);
	IS(start_file("{\"doca_program_flags\": {\"factor\": \"1\"}}", false), INVALID_VALUE);
	IS(start_file(more, false), INVALID_VALUE);
	OK(start_file(more, true));
	cr_assert_str_eq(conf.calls, "i:3 ");
	IS(doca_argp_disable_pedantic_config_parsing(), BAD_STATE); /* not initialised */
	cr_assert_eq(fake_opens(), 0);
}
