/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc rp|np ccmad|program|header|ifa1|ifa2 [ROUNDS]: loads the program of that role and prints "active", or
 * "standby", until its standard input ends. ROUNDS: loads and unloads so often first. Ends with 3 and
 * "error" when the program has faulted.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <doca_dev.h>
#include <doca_pcc.h>
#include <poll.h>

extern struct doca_pcc_app *rp_app, *np_app;

#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t ret_ = (call);                                                        \
		if (ret_ != DOCA_SUCCESS) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, doca_error_get_name(ret_));             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static struct doca_dev *open_dpa0(void)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++)
		if (doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) == DOCA_SUCCESS &&
		    !strcmp(name, "dpa0"))
			OK(doca_dev_open(list[i], &dev));
	OK(doca_devinfo_destroy_list(list));
	if (!dev)
		exit(1);
	return dev;
}

static void set_format(struct doca_pcc *pcc, int np, const char *format)
{
	if (!strcmp(format, "ifa1"))
		OK(doca_pcc_set_ifa1_probe_packet_format(pcc, 0));
	else if (!strcmp(format, "ifa2"))
		OK(doca_pcc_set_ifa2_probe_packet_format(pcc, 0));
	else if ((!strcmp(format, "program") || !strcmp(format, "header")) && !np)
		OK(doca_pcc_rp_set_ccmad_remote_sw_handler(pcc, 0, 1));
	if (!strcmp(format, "header")) {
		OK(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 0, 2));
		OK(doca_pcc_rp_set_ccmad_probe_priority_change_en(pcc, 0, 1));
	}
}

static doca_pcc_process_state_t state_of(struct doca_pcc *pcc)
{
	doca_pcc_process_state_t s;

	OK(doca_pcc_get_process_state(pcc, &s));
	return s;
}

static int has_ended(void)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	char c;

	return poll(&p, 1, 0) > 0 && fread(&c, 1, 1, stdin) != 1;
}

static int stay(struct doca_pcc *pcc)
{
	static const char *const names[] = {"active", "standby", "deactivated", "error"};
	doca_pcc_process_state_t was = (doca_pcc_process_state_t)-1, now;

	for (;;) {
		now = state_of(pcc);
		if (now != was)
			printf("%s\n", names[now]);
		fflush(stdout);
		if (now == DOCA_PCC_PS_ERROR)
			return 3;
		if (has_ended())
			return 0;
		was = now;
		OK(doca_pcc_wait(pcc, 0));
		poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 100);
	}
}

int main(int argc, char **argv)
{
	int np = argc > 1 && !strcmp(argv[1], "np"), rc;
	struct doca_dev *dev = open_dpa0();
	struct doca_pcc *pcc;

	if (argc < 3)
		return 2;
	OK(np ? doca_pcc_np_create(dev, &pcc) : doca_pcc_create(dev, &pcc));
	OK(doca_pcc_set_app(pcc, np ? np_app : rp_app));
	set_format(pcc, np, argv[2]);
	if (getenv("PCC_CORE"))
		OK(doca_pcc_set_dev_coredump_file(pcc, getenv("PCC_CORE")));
	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++) {
		OK(doca_pcc_start(pcc));
		OK(doca_pcc_stop(pcc));
	}
	OK(doca_pcc_start(pcc));
	rc = stay(pcc);
	OK(doca_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
	return rc;
}
