/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_pcc: loads a congestion control program for the flows of all processes of this adapter
 * instance, until it is interrupted or the program fails. `dpactl pcc` shows it meanwhile.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <doca_pcc.h>
#include "res.h"

extern struct doca_pcc_app *pcc_app;

static const char *state_name(doca_pcc_process_state_t s)
{
	static const char *const names[] = {"Active", "Standby", "Deactivated", "Error"};

	return s <= DOCA_PCC_PS_ERROR ? names[s] : "?";
}

static bool is_wanted(const struct doca_devinfo *info, const struct args *a)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];

	return doca_devinfo_get_is_pcc_supported(info) == DOCA_SUCCESS &&
	       (!a->pf_dev[0] ||
		(doca_devinfo_get_ibdev_name(info, name, sizeof(name)) == DOCA_SUCCESS &&
		 !strcmp(name, a->pf_dev)));
}

static bool open_port(const struct args *a, struct doca_dev **dev)
{
	struct doca_devinfo **list;
	uint32_t n;

	TRY(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !*dev; i++)
		if (is_wanted(list[i], a) && doca_dev_open(list[i], dev) != DOCA_SUCCESS)
			*dev = NULL;
	doca_devinfo_destroy_list(list);
	if (!*dev)
		fprintf(stderr, "no device with programmable congestion control\n");
	return *dev;
}

/* Until a signal comes; false: the program has failed. The signals are blocked. */
static bool watch(struct doca_pcc *pcc, const sigset_t *signals)
{
	const struct timespec tenth = {.tv_nsec = 100000000};
	doca_pcc_process_state_t state, last = DOCA_PCC_PS_DEACTIVATED;

	do {
		TRY(doca_pcc_get_process_state(pcc, &state));
		if (state != last)
			printf("PCC %s\n", state_name(state));
		fflush(stdout);
		last = state;
		if (state == DOCA_PCC_PS_ERROR || state == DOCA_PCC_PS_DEACTIVATED)
			return false;
	} while (sigtimedwait(signals, NULL, &tenth) < 0);
	return true;
}

static bool run_program(struct doca_dev *dev, struct doca_pcc **pcc, const sigset_t *signals)
{
	TRY(doca_pcc_create(dev, pcc));
	TRY(doca_pcc_set_app(*pcc, pcc_app));
	TRY(doca_pcc_start(*pcc));
	return watch(*pcc, signals);
}

int main(int argc, char **argv)
{
	struct args a = {0};
	struct doca_dev *dev = NULL;
	struct doca_pcc *pcc = NULL;
	sigset_t signals;
	bool ok;

	if (!args_parse(&a, "dpa_pcc", ARGS_LOCAL, argc, argv))
		return 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ok = open_port(&a, &dev) && run_program(dev, &pcc, &signals);
	END(&ok, pcc, doca_pcc_destroy(pcc));
	END(&ok, dev, doca_dev_close(dev));
	return ok ? 0 : 1;
}
