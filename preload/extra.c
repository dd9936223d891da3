/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* extra.c - collects our entries in a folder. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "extra.h"
#include "place.h"
#include "preload.h"

static bool has_extra(const struct pl_extra *x, const char *name)
{
	for (size_t i = 0; i < x->num; i++)
		if (strcmp(x->entries[i].name, name) == 0)
			return true;
	return false;
}

/* arg: the pointer to the list, which realloc() may move. */
static bool add_extra(void *arg, const char *name, unsigned char type)
{
	struct pl_extra **list = arg, *x = *list;

	if (strlen(name) > NAME_MAX || has_extra(x, name))
		return true;
	if (x->num == x->room) {
		size_t room = x->room * 2;

		x = realloc(x, sizeof(*x) + room * sizeof(x->entries[0]));
		if (!x)
			return false;
		x->room = room;
		*list = x;
	}
	x->entries[x->num].type = type;
	strcpy(x->entries[x->num++].name, name);
	return true;
}

/* True if the stream itself shows this entry. */
static bool is_in_folder(const char *folder, const char *name)
{
	char at[2 * PATH_MAX], target[1];

	snprintf(at, sizeof(at), "%s/%s", folder, name);
	return pl_exists(at) || syscall(SYS_readlinkat, AT_FDCWD, at, target, sizeof(target)) >= 0;
}

static bool add_extra_layer(const struct pl_path *p, unsigned layer, struct pl_extra **x)
{
	char at[2 * PATH_MAX];
	struct dirent *ent;
	bool ok = true;
	DIR *dir;

	pl_layer(p->root, layer, at, PATH_MAX);
	strcat(at, p->rest);
	dir = PL_NEXT(opendir)(at);
	if (!dir)
		return true;
	while (ok && (ent = PL_NEXT(readdir)(dir)))
		if (strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0 &&
		    !is_in_folder(p->at, ent->d_name))
			ok = add_extra(x, ent->d_name, ent->d_type);
	PL_NEXT(closedir)(dir);
	return ok;
}

static bool add_nodes(const struct pl_path *p, struct pl_extra **x)
{
	char name[32];
	bool ok = true;

	if (strcmp(p->rest, "/infiniband") != 0)
		return true;
	for (unsigned f = 0; ok && f < pl_functions(); f++) {
		pl_entry_name(PL_UVERBS, f, name, sizeof(name));
		ok = is_in_folder(p->at, name) || add_extra(x, name, DT_CHR);
	}
	return ok;
}

struct pl_extra *pl_extra_find(const struct pl_path *p)
{
	enum { ROOM = 8 };
	struct pl_extra *x = malloc(sizeof(*x) + ROOM * sizeof(x->entries[0]));
	bool ok = x;

	if (!x || !p->rest) {
		free(x);
		return NULL;
	}
	x->num = 0;
	x->room = ROOM;
	if (p->root == PL_DEV)
		ok = add_nodes(p, &x);
	else
		for (unsigned i = 0; ok && p->layers >> i; i++)
			ok = !(p->layers >> i & 1) || add_extra_layer(p, i, &x);
	ok = ok && (p->root != PL_SYS || pl_live_entries(p->rest, add_extra, &x));
	if (ok && x->num)
		return x;
	free(x);
	return NULL;
}
