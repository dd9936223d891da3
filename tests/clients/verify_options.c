/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_options.c - the command line of dpa_verify. */
#include "verify_msg.h"

#include <getopt.h>

static uint64_t size_arg(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (*end == 'k' || *end == 'K')
		n <<= 10;
	else if (*end == 'm' || *end == 'M')
		n <<= 20;
	else if (*end == 'g' || *end == 'G')
		n <<= 30;
	return n;
}

static enum ibv_mtu mtu_arg(const char *text)
{
	unsigned long n = strtoul(text, NULL, 0);

	for (int m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if (n == 128ul << m)
			return (enum ibv_mtu)m;
	return (enum ibv_mtu)0;
}

static int word_arg(const char *text, const char *const *words, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(text, words[i]))
			return i;
	return -1;
}

static const char usage[] =
	"usage: dpa_verify [-d DEVICE] [-i PORT] [-g GID-INDEX] [-p TCP-PORT] [--qps N] [--total "
	"BYTES]\n"
	"                  [--size MAX] [--recvs 1..16] [--inline N] [--mtu N] [--timeout N]\n"
	"                  [--retry-cnt N] [--rnr-retry N] [--rd-atomic N] [--seed N] [--stuck S]\n"
	"                  [--expect-error] [HOST | --threads]\n"
	"       dpa_verify --kind rc|uc|ud|xrc|srq|udsrq|tag [--receiver keeps|starves|stops|"
	"catches|turns]\n"
	"                  [--count MESSAGES | --seconds N] [--dm] [--twice] [--xrcd FILE]\n"
	"                  [the others, without --total, --recvs, --rd-atomic] [HOST | "
	"--threads]\n";

/* Options without a short form have private letters. */
static const struct option options[] = {
	{"device", required_argument, NULL, 'd'},    {"ib-port", required_argument, NULL, 'i'},
	{"gid-idx", required_argument, NULL, 'g'},   {"port", required_argument, NULL, 'p'},
	{"qps", required_argument, NULL, 'q'},	     {"total", required_argument, NULL, 'T'},
	{"size", required_argument, NULL, 's'},	     {"recvs", required_argument, NULL, 'r'},
	{"inline", required_argument, NULL, 'I'},    {"mtu", required_argument, NULL, 'm'},
	{"timeout", required_argument, NULL, 't'},   {"retry-cnt", required_argument, NULL, 'c'},
	{"rnr-retry", required_argument, NULL, 'n'}, {"rd-atomic", required_argument, NULL, 'a'},
	{"seed", required_argument, NULL, 'S'},	     {"stuck", required_argument, NULL, 'k'},
	{"kind", required_argument, NULL, 'K'},	     {"receiver", required_argument, NULL, 'R'},
	{"count", required_argument, NULL, 'C'},     {"seconds", required_argument, NULL, 'X'},
	{"xrcd", required_argument, NULL, 'x'},	     {"dm", no_argument, NULL, 'D'},
	{"twice", no_argument, NULL, '2'},	     {"threads", no_argument, NULL, 'H'},
	{"expect-error", no_argument, NULL, 'E'},    {0}};

/* Take an option of messages; false: there is none like it. */
static bool take_message_option(struct msg_opt *m, int o)
{
	int word;

	switch (o) {
	case 'K':
		word = word_arg(optarg, msg_kind_name, MSG_KINDS);
		m->kind = (enum msg_kind)word;
		m->on = true;
		return word >= 0;
	case 'R':
		word = word_arg(optarg, msg_manner_name, MSG_MANNERS);
		m->manner = (enum msg_manner)word;
		return word >= 0;
	case 'C':
		m->count = size_arg(optarg);
		return true;
	case 'X':
		m->seconds = (uint32_t)size_arg(optarg);
		m->count = 0;
		return true;
	case 'x':
		m->xrcd = optarg;
		return true;
	case 'D':
		m->dm = true;
		return true;
	case '2':
		m->twice = true;
		return true;
	case 'H':
		m->threads = true;
		return true;
	}
	return false;
}

/* Take one option; false: there is none like it. */
static bool take_option(struct verify_cmd *cmd, int o)
{
	struct verify *v = &cmd->v;
	uint64_t n = optarg ? size_arg(optarg) : 0;

	switch (o) {
	case 'd':
		vt_device = optarg;
		return true;
	case 'i':
		v->ib_port = (int)n;
		return true;
	case 'g':
		v->gid_index = (int)n;
		return true;
	case 'p':
		cmd->port = optarg;
		return true;
	case 'q':
		v->qps = (uint32_t)n;
		return true;
	case 'T':
		v->total = n;
		return true;
	case 's':
		v->max = (uint32_t)n;
		return true;
	case 'r':
		v->recvs = (uint32_t)n;
		return true;
	case 'I':
		v->inl = (uint32_t)n;
		return true;
	case 'm':
		v->mtu = mtu_arg(optarg);
		return true;
	case 't':
		v->timeout = (uint8_t)n;
		return true;
	case 'c':
		v->retry_cnt = (uint8_t)n;
		return true;
	case 'n':
		v->rnr_retry = (uint8_t)n;
		return true;
	case 'a':
		v->rd_atomic = (uint8_t)n;
		return true;
	case 'S':
		v->seed = n;
		return true;
	case 'k':
		v->stuck = (long)n;
		return true;
	case 'E':
		cmd->error = true;
		return true;
	}
	return take_message_option(&cmd->msg, o);
}

/* Flows have numbers of 4 bits, messages of 24. */
static bool sane_messages(const struct verify_cmd *cmd)
{
	const struct verify *v = &cmd->v;

	return v->qps <= MSG_FLOWS / 2 && v->max >= 1024 && v->max <= 1u << 20 && !cmd->error &&
	       (cmd->msg.count || cmd->msg.seconds) && cmd->msg.count < 1u << 23;
}

static bool sane(const struct verify_cmd *cmd)
{
	const struct verify *v = &cmd->v;

	if (cmd->msg.threads && cmd->host)
		return false;
	if (cmd->msg.on && !sane_messages(cmd))
		return false;
	return v->qps && v->qps <= MAX_QPS && v->max >= 8 && v->max <= 1u << 26 && v->recvs &&
	       v->recvs <= WINDOW && v->mtu && v->timeout <= 31 && v->retry_cnt <= 7 &&
	       v->rnr_retry <= 7;
}

bool verify_options(struct verify_cmd *cmd, int argc, char **argv)
{
	bool good = true;
	int o;

	while (good && (o = getopt_long(argc, argv, "d:i:g:p:s:m:", options, NULL)) != -1)
		good = take_option(cmd, o);
	cmd->host = optind < argc ? argv[optind] : NULL;
	if (good && optind + 1 >= argc && sane(cmd))
		return true;
	fputs(usage, stderr);
	return false;
}
