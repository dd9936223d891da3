/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device.c - values that name a device, pci/ADDRESS[,args], or a representor,
 * pci/ADDRESS,pf0sfN[,args].
 */
#include <stdlib.h>
#include <string.h>
#include "argp.h"
#include "../../host/libdpa.h"

#define BUS "pci/"

/* Cut a text at its first comma. Returns what follows; NULL: nothing does. */
static char *cut_at_comma(char *text)
{
	char *comma = strchr(text, ',');

	if (!comma)
		return NULL;
	*comma = 0;
	return comma[1] ? comma + 1 : NULL;
}

doca_error_t argp_split_device(struct argp_given *g, const char *text)
{
	char *rest;

	if (strncmp(text, BUS, strlen(BUS)))
		return DOCA_ERROR_INVALID_VALUE;
	g->text = strdup(text + strlen(BUS));
	if (!g->text)
		return DOCA_ERROR_NO_MEMORY;
	rest = cut_at_comma(g->text);
	if (g->param->type == ARGP_DEVICE_REP) {
		if (!rest)
			return DOCA_ERROR_INVALID_VALUE;
		g->rep = rest;
		rest = cut_at_comma(rest);
	}
	g->devargs = rest;
	return DOCA_SUCCESS;
}

/* NULL: no device of the list has this address, or the text is no address. */
static struct doca_devinfo *find_by_pci(struct doca_devinfo **list, uint32_t num, const char *addr)
{
	for (uint32_t i = 0; i < num; i++) {
		uint8_t is = 0;

		if (!doca_devinfo_is_equal_pci_addr(list[i], addr, &is) && is)
			return list[i];
	}
	return NULL;
}

static doca_error_t open_pci_device(const struct argp *a, const char *addr, struct doca_dev **dev)
{
	struct doca_devinfo **list, *info;
	doca_error_t ret;
	uint32_t num;

	ret = doca_devinfo_create_list(&list, &num);
	if (ret)
		return ret == DOCA_ERROR_NO_MEMORY ? ret : DOCA_ERROR_INVALID_VALUE;
	info = find_by_pci(list, num, addr);
	if (!info)
		ret = DOCA_ERROR_INVALID_VALUE;
	else if (a->dev_open)
		ret = a->dev_open(info, a->dev_open_ctx, dev);
	else
		ret = doca_dev_open(info, dev);
	doca_devinfo_destroy_list(list);
	return ret;
}

/* Return the number of pf0sfN; 0: the name has another form. */
static uint32_t sf_number(const char *name)
{
	char *end;
	long n;

	if (!strncmp(name, "pf0", 3))
		name += 3;
	if (strncmp(name, "sf", 2) || name[2] < '1' || name[2] > '9')
		return 0;
	n = strtol(name + 2, &end, 10);
	return *end || n > INT32_MAX ? 0 : (uint32_t)n;
}

static doca_error_t open_rep(struct doca_dev *dev, const char *name, struct doca_dev_rep **rep)
{
	doca_error_t ret = DOCA_ERROR_INVALID_VALUE;
	struct doca_devinfo_rep **list;
	uint32_t num, wanted = sf_number(name);

	if (!wanted || doca_devinfo_rep_create_list(dev, DOCA_DEVINFO_REP_FILTER_ALL, &list, &num))
		return ret;
	for (uint32_t i = 0; i < num; i++)
		if (dpa_rep_function(list[i]) == wanted)
			ret = doca_dev_rep_open(list[i], rep);
	doca_devinfo_rep_destroy_list(list);
	return ret;
}

doca_error_t argp_call_device(const struct argp *a, const struct argp_given *g)
{
	struct doca_argp_device_rep_ctx ctx = {.dev_ctx = {.devargs = g->devargs}};
	doca_error_t ret = open_pci_device(a, g->text, &ctx.dev_ctx.dev);

	if (ret) {
		argp_say("there is no device " BUS "%s, or it cannot be opened", g->text);
		return ret;
	}
	if (g->param->type == ARGP_DEVICE)
		return g->param->callback(&ctx.dev_ctx, a->config);
	ret = open_rep(ctx.dev_ctx.dev, g->rep, &ctx.dev_rep);
	if (!ret)
		return g->param->callback(&ctx, a->config);
	argp_say("the device " BUS "%s has no representor %s", g->text, g->rep);
	if (!a->dev_open)
		doca_dev_close(ctx.dev_ctx.dev);
	return ret;
}
