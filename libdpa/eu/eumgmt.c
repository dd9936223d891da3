/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * eumgmt.c - the state of EU partitions and groups: a small text file beside the adapter state
 * file.
 *
 *   dpa-eus 1
 *   partition ID MAX-GROUPS VHCAS EUS
 *   group ID PARTITION EUS NAME            (the name is the rest of the line)
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "eumgmt.h"

#define HEAD	  "dpa-eus 1"
#define SUFFIX	  ".eus"
#define FILE_MAX  65536
#define TEXT_MAX  1024 /* characters of a set or list */
#define LINE_MAX_ 4096

/* ------------------------------------------------------------------- sets */

static bool parse_decimal(const char **s, uint32_t max, uint32_t *out)
{
	uint32_t v = 0;

	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); (*s)++) {
		v = v * 10 + (uint32_t)(**s - '0');
		if (v > max)
			return false;
	}
	*out = v;
	return true;
}

bool dpal_eu_set_parse(const char *text, uint32_t num_eus, struct dpal_eu_set *set)
{
	uint32_t first, last;

	memset(set, 0, sizeof(*set));
	if (!num_eus || num_eus > DPA_EUMGMT_EUS)
		return false;
	for (;; text++) {
		if (!parse_decimal(&text, num_eus - 1, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!parse_decimal(&text, num_eus - 1, &last) || last < first)
				return false;
		}
		for (uint32_t eu = first; eu <= last; eu++)
			dpal_eu_set_add(set, eu);
		if (!*text)
			return true;
		if (*text != ',')
			return false;
	}
}

void dpal_eu_set_text(const struct dpal_eu_set *set, bool dense, char *buf, size_t len)
{
	size_t at = 0;

	if (len)
		buf[0] = '\0';
	for (uint32_t eu = 0; eu < DPA_EUMGMT_EUS && at < len; eu++) {
		uint32_t last = eu;

		if (!dpal_eu_set_has(set, eu))
			continue;
		while (dense && dpal_eu_set_has(set, last + 1))
			last++;
		at += (size_t)snprintf(buf + at, len - at, last > eu ? "%s%u-%u" : "%s%u",
				       at ? "," : "", eu, last);
		eu = last;
	}
}

static bool sets_overlap(const struct dpal_eu_set *a, const struct dpal_eu_set *b)
{
	for (size_t i = 0; i < DPA_EUMGMT_EUS / 64; i++)
		if (a->bits[i] & b->bits[i])
			return true;
	return false;
}

static void take_out_set(struct dpal_eu_set *from, const struct dpal_eu_set *what)
{
	for (size_t i = 0; i < DPA_EUMGMT_EUS / 64; i++)
		from->bits[i] &= ~what->bits[i];
}

/* ----------------------------------------------------------------- reading */

static bool parse_vhca_field(const char *text, struct dpa_eumgmt_partition *p)
{
	for (;; text++) {
		if (p->num_vhcas == DPA_EUMGMT_VHCAS ||
		    !parse_decimal(&text, DPA_EUMGMT_VHCA_MAX, &p->vhcas[p->num_vhcas++]))
			return false;
		if (!*text)
			return true;
		if (*text != ',')
			return false;
	}
}

static bool parse_partition(const char *line, struct dpa_eumgmt *s)
{
	char vhcas[TEXT_MAX], eus[TEXT_MAX];
	struct dpa_eumgmt_partition p = {0};

	if (s->num_partitions == DPA_EUMGMT_PARTITIONS ||
	    sscanf(line, "%u %u %1023s %1023s", &p.id, &p.max_groups, vhcas, eus) != 4 ||
	    p.id < 1 || p.id > DPA_EUMGMT_PARTITIONS || !parse_vhca_field(vhcas, &p) ||
	    !dpal_eu_set_parse(eus, DPA_EUMGMT_EUS, &p.eus))
		return false;
	for (uint32_t i = 0; i < s->num_partitions; i++)
		if (s->partitions[i].id == p.id || sets_overlap(&s->partitions[i].eus, &p.eus))
			return false;
	s->partitions[s->num_partitions++] = p;
	return true;
}

static bool parse_group(const char *line, struct dpa_eumgmt *s)
{
	struct dpa_eumgmt_group g = {0};
	char eus[TEXT_MAX];
	int at = 0;

	if (s->num_groups == DPA_EUMGMT_GROUPS ||
	    sscanf(line, "%u %u %1023s %n", &g.id, &g.partition, eus, &at) != 3 || !at ||
	    g.id < 1 || g.id > DPA_EUMGMT_GROUPS || !line[at] ||
	    strlen(line + at) > DPA_EUMGMT_NAME || !dpal_eu_set_parse(eus, DPA_EUMGMT_EUS, &g.eus))
		return false;
	snprintf(g.name, sizeof(g.name), "%s", line + at);
	for (uint32_t i = 0; i < s->num_groups; i++)
		if (s->groups[i].id == g.id || sets_overlap(&s->groups[i].eus, &g.eus))
			return false;
	s->groups[s->num_groups++] = g;
	return true;
}

static int parse_eumgmt(char *text, struct dpa_eumgmt *s)
{
	char *save, *line = strtok_r(text, "\n", &save);

	if (!line || strcmp(line, HEAD))
		return EINVAL;
	while ((line = strtok_r(NULL, "\n", &save))) {
		bool ok = false;

		if (!strncmp(line, "partition ", 10))
			ok = parse_partition(line + 10, s);
		else if (!strncmp(line, "group ", 6))
			ok = parse_group(line + 6, s);
		if (!ok)
			return EINVAL;
	}
	return 0;
}

static bool state_path(const char *board, const char *suffix, char *path, size_t len)
{
	int n = snprintf(path, len, "%s%s", board, suffix);

	return n > 0 && (size_t)n < len;
}

/* True if the file belongs to this user or to the administrator. */
static bool is_trusted(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0);
}

static int read_eumgmt_state(int fd, char *buf, size_t len)
{
	size_t at = 0;

	while (at < len - 1) {
		ssize_t n = read(fd, buf + at, len - 1 - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (!n)
			break;
		at += (size_t)n;
	}
	buf[at] = '\0';
	return at == len - 1 ? EFBIG : 0;
}

int dpa_eumgmt_load(const char *board, struct dpa_eumgmt *state)
{
	char path[LINE_MAX_], *text;
	int fd, ret;

	memset(state, 0, sizeof(*state));
	if (!state_path(board, SUFFIX, path, sizeof(path)))
		return ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	text = malloc(FILE_MAX);
	ret = text ? 0 : ENOMEM;
	if (!ret && is_trusted(fd)) {
		ret = read_eumgmt_state(fd, text, FILE_MAX);
		if (!ret)
			ret = parse_eumgmt(text, state);
	}
	free(text);
	close(fd);
	if (ret)
		memset(state, 0, sizeof(*state));
	return ret;
}

/* ----------------------------------------------------------------- writing */

int dpa_eumgmt_lock(const char *board)
{
	char path[LINE_MAX_];
	int fd;

	if (!state_path(board, SUFFIX ".lock", path, sizeof(path)))
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX))
		if (errno != EINTR) {
			int err = errno;

			close(fd);
			return -err;
		}
	return fd;
}

void dpa_eumgmt_unlock(int lock)
{
	close(lock);
}

static void write_text(FILE *f, const struct dpa_eumgmt *s)
{
	char eus[TEXT_MAX];

	fprintf(f, HEAD "\n");
	for (uint32_t i = 0; i < s->num_partitions; i++) {
		const struct dpa_eumgmt_partition *p = &s->partitions[i];

		fprintf(f, "partition %u %u ", p->id, p->max_groups);
		for (uint32_t k = 0; k < p->num_vhcas; k++)
			fprintf(f, "%s%u", k ? "," : "", p->vhcas[k]);
		dpal_eu_set_text(&p->eus, true, eus, sizeof(eus));
		fprintf(f, " %s\n", eus);
	}
	for (uint32_t i = 0; i < s->num_groups; i++) {
		const struct dpa_eumgmt_group *g = &s->groups[i];

		dpal_eu_set_text(&g->eus, true, eus, sizeof(eus));
		fprintf(f, "group %u %u %s %s\n", g->id, g->partition, eus, g->name);
	}
}

int dpa_eumgmt_save(const char *board, const struct dpa_eumgmt *state)
{
	char path[LINE_MAX_], tmp[LINE_MAX_];
	int fd, ret = 0;
	FILE *f;

	if (!state_path(board, SUFFIX, path, sizeof(path)) ||
	    !state_path(board, SUFFIX ".XXXXXX", tmp, sizeof(tmp)))
		return ENAMETOOLONG;
	if (!state->num_partitions && !state->num_groups)
		return unlink(path) && errno != ENOENT ? errno : 0;
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return errno;
	f = fdopen(fd, "w");
	if (!f) {
		ret = errno;
		close(fd);
		goto out;
	}
	write_text(f, state);
	if (fflush(f) || ferror(f))
		ret = errno ? errno : EIO;
	fclose(f);
	if (!ret && rename(tmp, path))
		ret = errno;
out:
	if (ret)
		unlink(tmp);
	return ret;
}

/* --------------------------------------------------------------- look-up */

const struct dpa_eumgmt_partition *dpa_eumgmt_partition_of(const struct dpa_eumgmt *s,
							   uint32_t vhca)
{
	for (uint32_t i = 0; i < s->num_partitions; i++)
		for (uint32_t k = 0; k < s->partitions[i].num_vhcas; k++)
			if (s->partitions[i].vhcas[k] == vhca)
				return &s->partitions[i];
	return NULL;
}

void dpa_eumgmt_select(const struct dpa_eumgmt *state, uint32_t vhca, uint32_t num_eus,
		       struct dpa_eumgmt_eus *out)
{
	const struct dpa_eumgmt_partition *p = dpa_eumgmt_partition_of(state, vhca);

	memset(out, 0, sizeof(*out));
	for (uint32_t eu = 0; eu < num_eus && eu < DPA_EUMGMT_EUS; eu++)
		if (!p || dpal_eu_set_has(&p->eus, eu))
			dpal_eu_set_add(&out->pool, eu);
	if (p)
		out->partition = p->id;
	else
		for (uint32_t i = 0; i < state->num_partitions; i++)
			take_out_set(&out->pool, &state->partitions[i].eus);
	out->free = out->pool;
	for (uint32_t i = 0; i < state->num_groups; i++)
		take_out_set(&out->free, &state->groups[i].eus);
}

int dpa_eumgmt_lookup(const char *board, uint32_t vhca, uint32_t num_eus,
		      struct dpa_eumgmt_eus *out)
{
	struct dpa_eumgmt *s = malloc(sizeof(*s));
	struct dpa_eumgmt none = {0};
	int ret = s ? dpa_eumgmt_load(board, s) : ENOMEM;

	dpa_eumgmt_select(ret ? &none : s, vhca, num_eus, out);
	free(s);
	return ret;
}

uint32_t dpa_eumgmt_vhca(const char *device)
{
	size_t n = strlen(device);

	while (n && isdigit((unsigned char)device[n - 1]))
		n--;
	return (uint32_t)strtoul(device + n, NULL, 10);
}
