/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* knobs.c - the table of settings, and the conversion of one value between text and field. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "knobs.h"

#define FIELD(f) offsetof(struct dpa_config, f)

#define DPA_SPEED_WORDS "10|25|40|50|50-1x|100|100-1x|100-2x|200|200-2x|400"

/* Values of active_width and active_speed (IBA 14.2.5.6, ibv_query_port(3)). */
enum { WIDTH_1X = 1, WIDTH_4X = 2, WIDTH_2X = 16 };
enum { SPEED_QDR = 4, SPEED_EDR = 32, SPEED_HDR = 64, SPEED_NDR = 128 };

/* In the order of DPA_SPEED_WORDS. The text is that of the kernel's sysfs file. */
static const struct dpa_speed speeds[] = {
	{WIDTH_1X, SPEED_QDR, "10 Gb/sec (1X QDR)"},  {WIDTH_1X, SPEED_EDR, "25 Gb/sec (1X EDR)"},
	{WIDTH_4X, SPEED_QDR, "40 Gb/sec (4X QDR)"},  {WIDTH_2X, SPEED_EDR, "50 Gb/sec (2X EDR)"},
	{WIDTH_1X, SPEED_HDR, "50 Gb/sec (1X HDR)"},  {WIDTH_4X, SPEED_EDR, "100 Gb/sec (4X EDR)"},
	{WIDTH_1X, SPEED_NDR, "100 Gb/sec (1X NDR)"}, {WIDTH_2X, SPEED_HDR, "100 Gb/sec (2X HDR)"},
	{WIDTH_4X, SPEED_HDR, "200 Gb/sec (4X HDR)"}, {WIDTH_2X, SPEED_NDR, "200 Gb/sec (2X NDR)"},
	{WIDTH_4X, SPEED_NDR, "400 Gb/sec (4X NDR)"},
};

const struct dpa_speed *dpa_cfg_speed(const struct dpa_config *cfg)
{
	return &speeds[cfg->port_speed];
}

const struct dpa_knob dpa_knobs[] = {
	{.name = "placement",
	 .def = "auto",
	 .type = DPA_KNOB_PLACE,
	 .offset = FIELD(placement),
	 .use = "auto, inline, eu or eu:LIST (as in eu:0,2-5, EUs 0 to 255)",
	 .help = "execution of a QP's work: by the thread that posts (inline) or by an EU"},
	{.name = "disable",
	 .def = "0",
	 .type = DPA_KNOB_BOOL,
	 .offset = FIELD(disable),
	 .use = "0 or 1",
	 .help = "1: there is no dpa0"},
	{.name = "blueflame",
	 .def = "1",
	 .type = DPA_KNOB_BOOL,
	 .offset = FIELD(blueflame),
	 .use = "0 or 1",
	 .help = "0: all work is announced by doorbells; no WQE is written into the UAR slot"},
	{.name = "log",
	 .def = "warn",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_LOG_ERR,
	 .words = "error|warn|info|debug",
	 .offset = FIELD(log),
	 .use = "error, warn, info or debug",
	 .help = "least important line that is written to log_file"},
	{.name = "log_file",
	 .def = "",
	 .type = DPA_KNOB_PATH,
	 .offset = FIELD(log_file),
	 .use = "an absolute path",
	 .help = "file that log lines are appended to; without it there is no log"},
	{.name = "board",
	 .def = "",
	 .type = DPA_KNOB_PATH,
	 .offset = FIELD(board),
	 .use = "an absolute path",
	 .help = "file of the adapter state; without it the one of this user and network "
		 "namespace"},
	{.name = "interface",
	 .def = "all",
	 .type = DPA_KNOB_IF,
	 .offset = FIELD(interface),
	 .use = "all, or the name of an interface",
	 .help = "the one interface whose addresses dpa0 has; the port of dpa0 is down while "
		 "this interface is down; all: the addresses of all interfaces, and the port "
		 "is always active"},
	{.name = "functions",
	 .def = "0",
	 .type = DPA_KNOB_FUNCS,
	 .offset = FIELD(functions),
	 .use = "a number of SFs from 0 to 7, or for each SF with commas between: all, or the name "
		"of an interface (as in all,eth1)",
	 .help = "devices beside dpa0 (dpa0_sf1, ...), and the interfaces whose addresses they "
		 "have"},
	{.name = "gid_order",
	 .def = "addresses",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_GIDS_ADDRESSES,
	 .words = "addresses|no_loopback|adapter",
	 .offset = FIELD(gid_order),
	 .use = "addresses, no_loopback or adapter",
	 .help = "GID table: all addresses, loopback last; without the loopback addresses; or at "
		 "the odd indices only, as the RoCEv2 entries of an adapter, with link-local IPv6 "
		 "at 1, the first IPv4 address at 3, and 127.0.0.1 only if there is no other IPv4 "
		 "address"},
	{.name = "cm_prefer",
	 .def = "kernel",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_CMA_KERNEL,
	 .words = "kernel|dpa",
	 .offset = FIELD(cm_prefer),
	 .use = "kernel or dpa",
	 .help = "device that rdma_cm uses for an address that both dpa0 and a real RDMA device "
		 "have: kernel: the real device, by the kernel's rdma_cm; dpa: dpa0"},
	{.name = "link_layer",
	 .def = "ethernet",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_LAYER_ETHERNET,
	 .words = "ethernet|infiniband",
	 .offset = FIELD(link_layer),
	 .use = "ethernet or infiniband",
	 .help = "infiniband: the port has a LID, and RC, UC and UD reach the QPs of this "
		 "adapter instance by it without a GID; GIDs work as before"},
	{.name = "port_speed",
	 .def = "100",
	 .type = DPA_KNOB_ENUM,
	 .min = 0,
	 .words = DPA_SPEED_WORDS,
	 .offset = FIELD(port_speed),
	 .use = "10, 25, 40, 50, 50-1x, 100, 100-1x, 100-2x, 200, 200-2x or 400",
	 .help = "speed in Gb/s, and with -1x or -2x the width, that the port reports; it limits "
		 "nothing"},
	{.name = "uar_pages",
	 .def = "2048",
	 .type = DPA_KNOB_UINT,
	 .min = 1,
	 .max = 2048,
	 .offset = FIELD(uar_pages),
	 .use = "a number from 1 to 2048",
	 .help = "UAR pages (of 16 QPs) of an adapter instance that this process creates"},
	{.name = "pull",
	 .def = "auto",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_PULL_AUTO,
	 .words = "auto|never",
	 .offset = FIELD(pull),
	 .use = "auto or never",
	 .help = "auto: the receiver copies large messages from the sender's memory "
		 "(process_vm_readv) if possible; the sender may copy parts of them "
		 "(process_vm_writev)"},
	{.name = "direct",
	 .def = "auto",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_DIRECT_AUTO,
	 .words = "auto|never",
	 .offset = FIELD(direct),
	 .use = "auto or never",
	 .help = "auto: the initiator executes RDMA WRITE and READ between processes of one "
		 "adapter instance itself (process_vm_writev) if possible; never: neither this "
		 "process nor its peers in the memory of this process"},
	{.name = "ptracer",
	 .def = "kernel",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_PTRACER_KERNEL,
	 .words = "kernel|any",
	 .offset = FIELD(ptracer),
	 .use = "kernel or any",
	 .help = "processes that may copy this process's memory if kernel.yama.ptrace_scope is 1 "
		 "(pull and direct need it): kernel: those that the kernel allows; any: all "
		 "processes of the same user, which may then also trace this process "
		 "(PR_SET_PTRACER)"},
	{.name = "share_mr",
	 .def = "auto",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_SHARE_AUTO,
	 .words = "auto|never|always",
	 .offset = FIELD(share_mr),
	 .use = "auto, never or always",
	 .help = "whether registered memory is replaced by memory that other processes of the "
		 "adapter instance map: auto: only under the preload library (dpa-run), and "
		 "while the process has one thread; always: also with more threads, whose "
		 "stores to the memory during the registration may be lost"},
	{.name = "share_region",
	 .def = "16",
	 .type = DPA_KNOB_UINT,
	 .min = 0,
	 .max = 1048576,
	 .offset = FIELD(share_region),
	 .use = "a number of MiB from 0 to 1048576",
	 .help = "longest region that share_mr = auto replaces: it is copied"},
	{.name = "share_total",
	 .def = "256",
	 .type = DPA_KNOB_UINT,
	 .min = 0,
	 .max = 1048576,
	 .offset = FIELD(share_total),
	 .use = "a number of MiB from 0 to 1048576",
	 .help = "memory of one process that share_mr = auto replaces at most: fork() copies "
		 "it back"},
	{.name = "shm",
	 .def = "auto",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_NEAR_AUTO,
	 .words = "auto|never",
	 .offset = FIELD(near_link),
	 .use = "auto or never",
	 .help = "whether QPs of one adapter instance use shared memory; never: RoCEv2 as with "
		 "other hosts"},
	{.name = "congestion",
	 .def = "dcqcn",
	 .type = DPA_KNOB_ENUM,
	 .min = DPA_CFG_CONGESTION_DCQCN,
	 .words = "dcqcn|none",
	 .offset = FIELD(congestion),
	 .use = "dcqcn or none",
	 .help = "congestion control of QPs to other hosts: dcqcn: their rate follows the "
		 "network; none: only a window limits them"},
	{.name = "spin",
	 .def = "200",
	 .type = DPA_KNOB_UINT,
	 .min = 0,
	 .max = 1000000,
	 .offset = FIELD(spin),
	 .use = "a number from 0 to 1000000",
	 .help = "pauses, or polls without result, before a wait loop yields the processor: a "
		 "tenth of this number if other threads poll on the same processor, else ten "
		 "times this number"},
	{.name = "max_run_time",
	 .def = "12",
	 .type = DPA_KNOB_UINT,
	 .min = 0,
	 .max = 86400,
	 .offset = FIELD(max_run_time),
	 .use = "a number of seconds from 0 (no limit) to 86400",
	 .help = "longest run time of an activation or launch of DPA device code"},
	{.name = "fault",
	 .def = "",
	 .type = DPA_KNOB_FAULT,
	 .offset = FIELD(fault),
	 .use = DPA_FAULT_USE,
	 .help = "faults of the links; without it, the faults of dpactl fault for the adapter "
		 "instance"},
	{.name = "inject",
	 .def = "",
	 .type = DPA_KNOB_INJECT,
	 .offset = FIELD(inject),
	 .use = DPA_INJECT_USE,
	 .help = "failures of calls, completions and events in this process; without it, those of "
		 "dpactl inject for the process"},
	{.name = "inject_calls",
	 .def = "",
	 .type = DPA_KNOB_PATH,
	 .offset = FIELD(inject_calls),
	 .use = "an absolute path",
	 .help = "file to which the first calls that could be injected into are appended; of "
		 "dpactl "
		 "sweep"},
	{.name = "link",
	 .def = "",
	 .type = DPA_KNOB_LINK,
	 .offset = FIELD(link),
	 .use = DPA_LINK_USE,
	 .help = "modelled network that packets pass before they arrive: a bottleneck with its "
		 "queue; without it, the network of dpactl link for the adapter instance"},
	{.name = "capture",
	 .def = "",
	 .type = DPA_KNOB_PATH,
	 .offset = FIELD(capture),
	 .use = "an absolute path",
	 .help = "pcapng file that every packet is appended to"},
	{.name = "timeline",
	 .def = "off",
	 .type = DPA_KNOB_TRACE,
	 .offset = FIELD(timeline),
	 .use = "off, on or all; dpactl trace adds @NAME",
	 .help = "whether events are recorded for dpactl report and dpactl trace: on: threads "
		 "with many events record some of them; all: every event, which slows a "
		 "program down; off: only while dpactl trace runs"},
	{.name = "observer",
	 .def = "",
	 .type = DPA_KNOB_PATH,
	 .env_only = true,
	 .offset = FIELD(observer),
	 .use = "IMAGE:KERNEL, the device image by an absolute path",
	 .help = "DPA kernel that gets a copy of every completion, on an EU"},
	{.name = "config",
	 .def = "",
	 .type = DPA_KNOB_PATH,
	 .env_only = true,
	 .offset = FIELD(config),
	 .use = "an absolute path",
	 .help = "configuration file to read instead of " DPA_CONFIG_DEFAULT},
};
const size_t dpa_knobs_num = sizeof(dpa_knobs) / sizeof(dpa_knobs[0]);

/* Parses a decimal number within limits, digits only; *end points behind the last digit. */
static bool parse_uint(const char *s, const char **end, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		v = v * 10 + (uint64_t)(*s - '0');
		if (v > max)
			return false;
	}
	*end = s;
	*out = (uint32_t)v;
	return v >= min;
}

static bool add_eus(struct dpa_cfg_place *p, uint32_t first, uint32_t last)
{
	if (last < first)
		return false;
	for (uint32_t eu = first; eu <= last; eu++) {
		uint64_t bit = UINT64_C(1) << (eu % 64);

		if (!(p->eus[eu / 64] & bit))
			p->num_eus++;
		p->eus[eu / 64] |= bit;
	}
	return true;
}

/* "0,2-5" */
static bool parse_eu_list(const char *s, struct dpa_cfg_place *p)
{
	for (;;) {
		uint32_t first, last;

		if (!parse_uint(s, &s, 0, DPA_CONFIG_EUS - 1, &first))
			return false;
		last = first;
		if (*s == '-' && !parse_uint(s + 1, &s, 0, DPA_CONFIG_EUS - 1, &last))
			return false;
		if (!add_eus(p, first, last))
			return false;
		if (*s == '\0')
			return true;
		if (*s++ != ',')
			return false;
	}
}

static bool parse_place(const char *s, struct dpa_cfg_place *out)
{
	struct dpa_cfg_place p = {.kind = DPA_CFG_PLACE_EU};

	if (strcmp(s, "auto") == 0)
		p.kind = DPA_CFG_PLACE_AUTO;
	else if (strcmp(s, "inline") == 0)
		p.kind = DPA_CFG_PLACE_INLINE;
	else if (strncmp(s, "eu:", 3) == 0) {
		if (!parse_eu_list(s + 3, &p))
			return false;
	} else if (strcmp(s, "eu") != 0)
		return false;
	*out = p;
	return true;
}

/* Returns the index of s in the words a|b|c; with s NULL, copies word n to buf. */
static int find_word(const char *words, const char *s)
{
	size_t len = strlen(s);

	for (int i = 0; *words; i++) {
		size_t w = strcspn(words, "|");

		if (w == len && memcmp(words, s, len) == 0)
			return i;
		words += w + (words[w] == '|');
	}
	return -1;
}

static void nth_word(const char *words, int n, char *buf, size_t len)
{
	while (n-- > 0)
		words += strcspn(words, "|") + 1;
	snprintf(buf, len, "%.*s", (int)strcspn(words, "|"), words);
}

static bool parse_path(const char *s, char *out)
{
	size_t len = strlen(s);

	if (s[0] != '/' || len >= DPA_CONFIG_PATH_MAX)
		return false;
	memcpy(out, s, len + 1);
	return true;
}

/* out has IFNAMSIZ bytes. "all" means none. */
static bool parse_interface(const char *s, size_t len, char *out)
{
	if (!len || len >= 16 || strcspn(s, "/ \t,") < len || !isalnum((unsigned char)*s))
		return false;
	memcpy(out, s, len);
	out[len] = '\0';
	if (!strcmp(out, "all"))
		out[0] = '\0';
	return true;
}

static bool parse_functions(const char *s, struct dpa_cfg_functions *out)
{
	struct dpa_cfg_functions f = {0};
	const char *end;

	if (isdigit((unsigned char)*s)) {
		if (!parse_uint(s, &end, 0, DPA_CONFIG_SFS, &f.num_sfs) || *end)
			return false;
		*out = f;
		return true;
	}
	for (;; s++) {
		size_t len = strcspn(s, ",");

		if (f.num_sfs == DPA_CONFIG_SFS || !parse_interface(s, len, f.ifname[f.num_sfs]))
			return false;
		f.num_sfs++;
		s += len;
		if (!*s)
			break;
	}
	*out = f;
	return true;
}

/* Writes only the number if every SF has all addresses. */
static void functions_text(const struct dpa_cfg_functions *f, char *buf, size_t len)
{
	bool named = false;
	size_t at = 0;

	for (uint32_t i = 0; i < f->num_sfs; i++)
		named |= f->ifname[i][0] != '\0';
	if (!named) {
		snprintf(buf, len, "%u", f->num_sfs);
		return;
	}
	for (uint32_t i = 0; i < f->num_sfs && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? "," : "",
				       f->ifname[i][0] ? f->ifname[i] : "all");
}

static const char timeline_words[] = "off|on|all";

/* WORD or WORD@TOOL; a tool's name has no character that a shell or a log treats specially. */
bool dpa_cfg_timeline_parse(const char *s, struct dpa_cfg_timeline *out)
{
	struct dpa_cfg_timeline t = {0};
	size_t n = strcspn(s, "@");
	char word[8] = "";
	int mode;

	if (n >= sizeof(word))
		return false;
	memcpy(word, s, n);
	mode = find_word(timeline_words, word);
	if (mode < 0)
		return false;
	t.mode = (enum dpa_cfg_timeline_mode)mode;
	if (s[n]) {
		const char *tool = s + n + 1;
		size_t len = strlen(tool);

		if (!mode || !len || len >= sizeof(t.tool) ||
		    strspn(tool, "abcdefghijklmnopqrstuvwxyz0123456789/") != len)
			return false;
		memcpy(t.tool, tool, len);
	}
	*out = t;
	return true;
}

static void timeline_text(const struct dpa_cfg_timeline *t, char *buf, size_t len)
{
	char word[8];

	nth_word(timeline_words, (int)t->mode, word, sizeof(word));
	snprintf(buf, len, "%s%s%s", word, t->tool[0] ? "@" : "", t->tool);
}

bool dpa_knob_set(const struct dpa_knob *k, struct dpa_config *cfg, const char *value)
{
	void *field = (char *)cfg + k->offset;
	const char *end;
	uint32_t num;
	int word;

	switch (k->type) {
	case DPA_KNOB_BOOL:
		if (!parse_uint(value, &end, 0, 1, &num) || *end)
			return false;
		*(bool *)field = num;
		return true;
	case DPA_KNOB_UINT:
		if (!parse_uint(value, &end, k->min, k->max, &num) || *end)
			return false;
		*(uint32_t *)field = num;
		return true;
	case DPA_KNOB_ENUM:
		word = find_word(k->words, value);
		if (word < 0)
			return false;
		*(int *)field = (int)k->min + word;
		return true;
	case DPA_KNOB_PATH:
		return parse_path(value, field);
	case DPA_KNOB_PLACE:
		return parse_place(value, field);
	case DPA_KNOB_FAULT:
		return dpa_fault_parse(value, field);
	case DPA_KNOB_INJECT:
		return dpa_inject_parse(value, field);
	case DPA_KNOB_LINK:
		return dpa_link_parse(value, field);
	case DPA_KNOB_FUNCS:
		return parse_functions(value, field);
	case DPA_KNOB_IF:
		return parse_interface(value, strlen(value), field);
	case DPA_KNOB_TRACE:
		return dpa_cfg_timeline_parse(value, field);
	}
	return false;
}

static void placement_text(const struct dpa_cfg_place *p, char *buf, size_t len)
{
	static const char *const kinds[] = {"auto", "inline", "eu"};
	char sep = ':';
	size_t at;

	at = (size_t)snprintf(buf, len, "%s", kinds[p->kind]);
	for (uint32_t eu = 0; p->num_eus && eu < DPA_CONFIG_EUS && at < len; eu++) {
		if (!dpa_cfg_place_has_eu(p, eu))
			continue;
		at += (size_t)snprintf(buf + at, len - at, "%c%u", sep, eu);
		sep = ',';
	}
}

void dpa_knob_value(const struct dpa_knob *k, const struct dpa_config *cfg, char *buf, size_t len)
{
	const void *field = (const char *)cfg + k->offset;

	switch (k->type) {
	case DPA_KNOB_BOOL:
		snprintf(buf, len, "%d", *(const bool *)field);
		break;
	case DPA_KNOB_UINT:
		snprintf(buf, len, "%u", *(const uint32_t *)field);
		break;
	case DPA_KNOB_ENUM:
		nth_word(k->words, *(const int *)field - (int)k->min, buf, len);
		break;
	case DPA_KNOB_IF:
		snprintf(buf, len, "%s", *(const char *)field ? (const char *)field : "all");
		break;
	case DPA_KNOB_PATH:
		snprintf(buf, len, "%s", (const char *)field);
		break;
	case DPA_KNOB_PLACE:
		placement_text(field, buf, len);
		break;
	case DPA_KNOB_FAULT:
		dpa_fault_text(field, buf, len);
		break;
	case DPA_KNOB_INJECT:
		dpa_inject_text(field, buf, len);
		break;
	case DPA_KNOB_LINK:
		dpa_link_text(field, buf, len);
		break;
	case DPA_KNOB_FUNCS:
		functions_text(field, buf, len);
		break;
	case DPA_KNOB_TRACE:
		timeline_text(field, buf, len);
		break;
	}
}

void dpa_knob_env_name(const struct dpa_knob *k, char *buf, size_t len)
{
	snprintf(buf, len, "DPA_%s", k->name);
	for (char *c = buf; *c; c++)
		*c = (char)toupper((unsigned char)*c);
}

void dpa_config_defaults(struct dpa_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	for (size_t i = 0; i < dpa_knobs_num; i++)
		if (dpa_knobs[i].def[0])
			(void)dpa_knob_set(&dpa_knobs[i], cfg, dpa_knobs[i].def);
}
